// The directory: search, categories, order, and the projects.
import { t } from "../text.ts";
import { address, navigate, withQuery, type Page } from "../state/router.ts";
import {
  busyMore, categories, enterList, focusSearch, list, search, showMore, type, typed, wantedBy, type Wanted,
} from "../state/list.ts";
import { Rows } from "../parts/row.tsx";
import { Cross, Search } from "../parts/icons.tsx";
import { Empty, Failed, Skeleton, Stale } from "../parts/states.tsx";
import { siteName } from "../state/session.ts";

export const home: Page = {
  enter: (_match, query) => enterList(query),
  view: Home,
  title: () => siteName.value,
};

function Home() {
  const wanted = wantedBy(address.value.searchParams);
  return (
    <div class="wide columns">
      <h1 class="unseen">{siteName.value}</h1>
      <Categories chosen={wanted.category} />
      <div class="grow">
        <p class="muted intro">{t.intro}</p>
        <SearchField />
        <Orders wanted={wanted} />
        <Heading wanted={wanted} />
        <Results />
      </div>
    </div>
  );
}

function SearchField() {
  return (
    <form class="search" role="search" onSubmit={(event) => { event.preventDefault(); search(); }}>
      <Search />
      <input type="search" id="search" name="q" aria-label={t.search} placeholder={t.search} title={t.searchHint}
        autocomplete="off" maxLength={200} value={typed.value} onInput={(event) => type(event.currentTarget.value)}
        ref={focusIfAsked} />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

/** The key may come before the field is there. */
function focusIfAsked(input: HTMLInputElement | null): void {
  if (input && focusSearch.value) {
    focusSearch.value = 0;
    input.focus();
    input.select();
  }
}

function Categories({ chosen }: { chosen: string }) {
  const known = categories.data.value;
  const used = (known ?? []).filter((each) => each.live_projects || each.slug === chosen);
  return (
    <nav class="categories" aria-label={t.categories} aria-busy={!known}>
      <h2>{t.categories}</h2>
      <ul>
        <li><Choice href={withQuery({ category: "" })} on={!chosen} name={t.all} /></li>
        {used.map((each) => (
          <li key={each.slug}>
            <Choice href={withQuery({ category: each.slug })} on={each.slug === chosen} name={each.name} count={each.live_projects} />
          </li>
        ))}
        {!known && Array.from({ length: 8 }, (_, place) => <li key={place} class="skeleton"><span class="line" /></li>)}
      </ul>
    </nav>
  );
}

function Choice({ href, on, name, count }: { href: string; on: boolean; name: string; count?: number }) {
  return (
    <a href={href} aria-current={on ? "true" : undefined}>
      <span dir="auto">{name}</span>{count !== undefined && <span class="count">{t.number(count)}</span>}
    </a>
  );
}

function Orders({ wanted }: { wanted: Wanted }) {
  const sorts = Object.entries(t.sorts).filter(([sort]) => sort || wanted.q);
  return (
    <nav class="tabs" aria-label={t.sortedBy}>
      {sorts.map(([sort, name]) => (
        <a key={sort} href={withQuery({ sort: sort === "newest" && !wanted.q ? "" : sort })}
          aria-current={sort === wanted.sort ? "true" : undefined}>{name}</a>
      ))}
    </nav>
  );
}

/** How many there are, of what, and how to widen it. */
function Heading({ wanted }: { wanted: Wanted }) {
  const shown = list.data.value;
  const category = categories.data.value?.find((each) => each.slug === wanted.category)?.name ?? wanted.category;
  const filters: [name: string, text: string][] = [];
  if (wanted.q) filters.push(["q", t.matching(wanted.q)]);
  if (wanted.category) filters.push(["category", t.inCategory(category)]);
  if (wanted.tag) filters.push(["tag", t.tagged(wanted.tag)]);
  return (
    <div class="summary">
      <p role="status">{shown ? t.found(shown.total, shown.capped) : "\u00a0"}</p>
      {filters.map(([name, text]) => (
        <button type="button" class="chip" key={name} aria-label={t.removeFilter(text)}
          onClick={() => navigate(withQuery({ [name]: "", ...(name === "q" && { sort: "" }) }))}>
          <span dir="auto">{text}</span><Cross />
        </button>
      ))}
    </div>
  );
}

function Results() {
  const shown = list.data.value;
  const problem = list.problem.value;
  const again = () => { void list.again(); void categories.again(); };
  if (!shown) return problem ? <Failed problem={problem} again={again} /> : <Skeleton rows={8} />;
  return (
    <>
      {problem && <Stale problem={problem} again={again} />}
      {shown.items.length ? <Rows projects={shown.items} busy={list.busy.value} /> : <Nothing />}
      {shown.next && (
        <button type="button" class="button block" disabled={busyMore.value} onClick={() => void showMore()}>
          {busyMore.value ? t.loading : t.more}
        </button>
      )}
    </>
  );
}

function Nothing() {
  const { q, category, tag } = wantedBy(address.value.searchParams);
  if (q || category || tag) {
    return (
      <Empty title={t.nothingFound} why={t.nothingFoundWhy}><a class="button" href="/">{t.showAll}</a></Empty>
    );
  }
  return (
    <Empty title={t.emptyDirectory} why={t.emptyDirectoryWhy}><a class="button primary" href="/submit">{t.submit}</a></Empty>
  );
}
