// The filters of a list of the console: a form, whose answers are in the address.
import type { Filter, Filtering } from "../state/filtering.ts";
import { address } from "../state/router.ts";
import { t } from "../text.ts";
import { w } from "./text.ts";

export function Filters({ listing }: { listing: Filtering }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    listing.apply();
  };
  return (
    <form class="filters" role="search" aria-label={w.filters} onSubmit={submit}>
      {listing.filters.filter((each) => !each.fromLinks || address.value.searchParams.has(each.name)).map((each) => <Control key={each.name} filter={each} listing={listing} />)}
      {listing.filtered && <a class="button clear" href={listing.whole}>{w.clear}</a>}
    </form>
  );
}

function Control({ filter, listing }: { filter: Filter; listing: Filtering }) {
  const { name, values, named, choices, pattern, isDay } = filter;
  const id = `filter-${name}`;
  const label = filter.label ?? w.filter[name] ?? name;
  const now = address.value.searchParams.get(name) ?? "";
  if (!values && !choices) {
    const typed = listing.typed.value[name] ?? "";
    const wrong = pattern && typed.trim() !== "" && !pattern.test(typed.trim());
    return (
      <div class={`filter${name === "q" ? " grow" : ""}`}>
        <label for={id}>{label}</label>
        {isDay ? <input id={id} name={name} type="date" value={typed} onInput={(event) => listing.type(name, event.currentTarget.value)} /> : (
          <input id={id} name={name} type="search" value={typed} maxLength={200} autocomplete="off" autocapitalize="none"
            spellcheck={false} aria-invalid={wrong || undefined} onInput={(event) => listing.type(name, event.currentTarget.value, event.isComposing)}
            onCompositionEnd={(event) => listing.type(name, event.currentTarget.value)} />
        )}
      </div>
    );
  }
  const known = choices ? choices() : values!.map((value) => [value, named?.[value] ?? w.values[value] ?? value] as const);
  const missing = now && !known.some(([value]) => value === now) && choices;
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select id={id} name={name} value={now} onChange={(event) => listing.choose(name, event.currentTarget.value)}>
        <option value="">{filter.unset ?? (name === "sort" ? w.usual : t.all)}</option>
        {missing && <option value={now}>{now}</option>}
        {known.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </div>
  );
}
