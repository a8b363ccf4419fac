// One field: a form with its choices in their order, and a preview of the input that members get.
import { Field as Labelled, focusWrong, TextField } from "../../parts/field.tsx";
import { Empty, Failed, Skeleton } from "../../parts/states.tsx";
import { showHere } from "../../parts/wrong.tsx";
import { Frame } from "../../console/frame.tsx";
import { categories } from "../../state/categories.ts";
import { say } from "../../state/notice.ts";
import { navigate, type Page } from "../../state/router.ts";
import { readOnly } from "../../state/session.ts";
import {
  addRow, change, changeRow, type Draft, draft, enterField, errorAt, languages, moveRow, refused, removeRow, type Row, rows, said, saved, saveField, slug, WITH_CHOICES,
  WITHOUT, type Words, withWords,
} from "./draft.ts";
import { Movers } from "./movers.tsx";
import { Preview } from "./preview.tsx";
import { f } from "./text.ts";

type Flag = keyof typeof f.flags;

export const form: Page = {
  enter: ([name = ""]) => enterField(name),
  view: () => <Frame title={title()}><Content /></Frame>,
  title,
};

function title(): string {
  return saved.data.value ? said(saved.data.value.label) : f.add;
}

function Content() {
  const { data: { value: found }, problem: { value: problem } } = saved;
  if (problem?.status === 404) return <Empty title={f.gone} why={f.goneWhy}><a class="button" href="/admin/fields">{f.back}</a></Empty>;
  if (problem) return <Failed problem={problem} again={() => void saved.again()} />;
  return found === undefined || saved.busy.value ? <Skeleton rows={3} /> : <Form isNew={found === null} />;
}

function Form({ isNew }: { isNew: boolean }) {
  const { name, kind, label, help, audience } = draft.value;
  const whole = refused.value && !refused.value.body.errors?.length ? refused.value : null;
  return (
    <form class="form rule" noValidate onSubmit={submit}>
      <p class="small"><a href="/admin/fields">{f.back}</a></p>
      {whole && <p class="banner bad" role="alert" tabIndex={-1} ref={showHere}>{whole.detail}</p>}
      <InLanguages name="label" label={f.label} hint={f.labelHint} words={label} most={60} take={(words) => change({ label: words, ...(isNew && spelled(label) === name ? { name: spelled(words) } : {}) })} />
      <TextField name="name" label={f.name} hint={f.nameHint} error={errorAt("name")} value={name} maxLength={32} autocomplete="off" autocapitalize="none"
        spellcheck={false} {...{ readOnly: !isNew }} onInput={(event) => change({ name: event.currentTarget.value })} />
      <Labelled name="kind" label={f.kind} hint={f.kindHint} error={errorAt("kind")}>
        {(attributes) => (
          <select {...attributes} value={kind} disabled={!isNew} onChange={(event) => change({ kind: event.currentTarget.value as Draft["kind"] })}>
            {Object.entries(f.kinds).map(([each, text]) => <option key={each} value={each}>{text}</option>)}
          </select>
        )}
      </Labelled>
      {WITH_CHOICES.includes(kind) && <Choices />}
      <InLanguages name="help" label={f.help} hint={f.helpHint} optional words={help} most={200} take={(words) => change({ help: words })} />
      <Labelled name="audience" label={f.audience} error={errorAt("audience")}>
        {(attributes) => (
          <select {...attributes} value={audience} onChange={(event) => change({ audience: event.currentTarget.value as Draft["audience"] })}>
            {Object.entries(f.audiences).map(([each, text]) => <option key={each} value={each}>{text}</option>)}
          </select>
        )}
      </Labelled>
      <fieldset class="field">
        <legend>{f.uses}</legend>
        {(Object.keys(f.flags) as Flag[]).filter((each) => !WITHOUT[each]?.includes(kind)).map((each) => (
          <Check key={each} label={f.flags[each]} checked={draft.value[each]} take={(is) => change({ [each]: is })} />
        ))}
      </fieldset>
      <Categories />
      <Preview />
      <p class="actions"><button type="submit" class="button primary" disabled={readOnly.value}>{f.save}</button></p>
    </form>
  );
}

interface TextProps {
  name: string;
  label: string;
  hint: string;
  optional?: boolean;
  words: Words;
  most: number;
  take: (words: Words) => void;
}

/** A text, in each language of the site where it has several. */
function InLanguages({ name, label, hint, optional, words, most, take }: TextProps) {
  return (
    <>
      {languages().map(({ tag, name: language }, place) => (
        <TextField key={tag} name={place ? `${name}-${tag}` : name} label={languages().length > 1 ? f.inLanguage(label, language) : label} hint={place ? undefined : hint}
          optional={optional || place > 0} error={errorAt(`${name}/${tag}`) ?? (place ? undefined : errorAt(name, true))} value={inLanguage(words, tag, place)} maxLength={most} autocomplete="off"
          onInput={(event) => take(withWords(words, tag, event.currentTarget.value))} />
      ))}
    </>
  );
}

function inLanguage(words: Words, tag: string, place: number): string {
  if (typeof words !== "string") return words[tag] ?? "";
  return place ? "" : words;
}

function Check({ label, checked, take }: { label: string; checked: boolean; take: (is: boolean) => void }) {
  return <label class="check"><input type="checkbox" checked={checked} onChange={(event) => take(event.currentTarget.checked)} /> <span>{label}</span></label>;
}

function Choices() {
  const error = errorAt("choices", true);
  return (
    <fieldset class="field">
      <legend>{f.choices}</legend>
      {error && <p class="error">{error}</p>}
      <ol class="own-choices">{rows.value.map((row, place) => <Choice key={row.key} row={row} place={place} />)}</ol>
      {rows.value.length < 100 && <p><button type="button" class="button small" onClick={addRow}>{f.addChoice}</button></p>}
    </fieldset>
  );
}

function Choice({ row: { key, kept, value, label, retired, projects }, place }: { row: Row; place: number }) {
  const shown = said(label) || value || String(place + 1);
  const error = errorAt(`choices/${place}`);
  const wrong = error ? { "aria-invalid": true, "aria-describedby": `choice-${key}-error` } : {};
  return (
    <li>
      {languages().map(({ tag, name }, at) => (
        <input key={tag} aria-label={at ? f.inLanguage(f.labelOf(place + 1), name) : f.labelOf(place + 1)} placeholder={at ? name : f.label} {...wrong} value={inLanguage(label, tag, at)}
          maxLength={60} dir="auto" autocomplete="off" onInput={(event) => typed(key, label, tag, event.currentTarget.value, at === 0 && !kept && slug(label, "-") === value)} />
      ))}
      <input aria-label={f.valueOf(place + 1)} placeholder={f.value} {...wrong} value={value} readOnly={kept} maxLength={40} autocomplete="off" autocapitalize="none" spellcheck={false}
        onInput={(event) => changeRow(key, { value: event.currentTarget.value })} />
      <label class="check small"><input type="checkbox" aria-label={f.retiredOf(shown)} checked={retired} onChange={(event) => changeRow(key, { retired: event.currentTarget.checked })} /> <span>{f.retired}</span></label>
      <span class="muted small">{projects ? f.used(projects) : f.unused}</span>
      <span class="acts small">
        <Movers id={String(key)} label={shown} isFirst={place === 0} isLast={place === rows.value.length - 1} move={(by) => moveRow(place, by)} />
        <button type="button" class="link" aria-label={f.removeOf(shown)} disabled={projects > 0 || rows.value.length === 1} onClick={() => removeRow(key)}>{f.remove}</button>
      </span>
      {error && <p class="error" id={`choice-${key}-error`}>{error}</p>}
    </li>
  );
}

/** A new choice has the value that its label spells, until somebody writes another one. */
function typed(key: number, label: Words, tag: string, text: string, spells: boolean): void {
  const words = withWords(label, tag, text);
  changeRow(key, { label: words, ...(spells ? { value: slug(words, "-") } : {}) });
}

function spelled(words: Words): string {
  return slug(words, "_").replace(/^\d+_*/, "").slice(0, 32);
}

function Categories() {
  const { categories: chosen } = draft.value;
  const all = categories.data.value ?? [];
  const error = errorAt("categories");
  const toggled = (slug: string, is: boolean) => change({ categories: is ? [...(chosen ?? []), slug] : (chosen ?? []).filter((each) => each !== slug) });
  return (
    <fieldset class="field">
      <legend>{f.categories}</legend>
      {error && <p class="error">{error}</p>}
      <Check label={f.allCategories} checked={chosen === null} take={(is) => change({ categories: is ? null : [] })} />
      {chosen !== null && (
        <div class="chips">{all.map(({ slug, name }) => <Check key={slug} label={name} checked={chosen.includes(slug)} take={(is) => toggled(slug, is)} />)}</div>
      )}
    </fieldset>
  );
}

async function submit(event: SubmitEvent): Promise<void> {
  event.preventDefault();
  const found = await saveField();
  if (!found) return focusWrong(event.target as HTMLFormElement);
  say(f.saved(said(found.label)));
  navigate("/admin/fields");
}
