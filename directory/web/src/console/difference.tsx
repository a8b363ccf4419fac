// What differs between two texts, with the words marked; a screen reader hears which were removed and which added.
import { added } from "../extras/extra.ts";
import { diff, shortened } from "../state/queue-diff.ts";
import type { Change } from "../state/queue-story.ts";
import { r } from "./review-text.ts";

export function Difference({ from, to }: { from: string; to: string }) {
  const parts = shortened(diff(from, to));
  return (
    <>
      {parts.map(({ kind, text }, place) =>
        kind === "gone" ? <del key={place}><span class="unseen">[{r.gonePart}: </span>{text}<span class="unseen">]</span></del>
        : kind === "new" ? <ins key={place}><span class="unseen">[{r.newPart}: </span>{text}<span class="unseen">]</span></ins>
        : text)}
      {!to && <span class="muted"> ({r.emptyValue})</span>}
    </>
  );
}

/** The logo before and after. */
function Logos({ from, to }: { from: string; to: string }) {
  return (
    <div class="q-logos">
      {[[r.before, from], [r.after, to]].map(([label, address]) => (
        <figure key={label}>
          {address ? <img class="monogram" src={address} width="96" height="96" alt="" /> : <span class="muted">({r.emptyValue})</span>}
          <figcaption class="small muted">{label}</figcaption>
        </figure>
      ))}
    </div>
  );
}

/** Pictures with their words, from the text of their list. */
export function Pictures({ list }: { list: string }) {
  return (
    <div class="q-pictures">
      {list.split("\n").filter(Boolean).map((line, place) => {
        const end = line.indexOf(" ");
        return <figure key={place}><a href={line.slice(0, end)}><img src={line.slice(0, end)} width="160" height="100" alt={line.slice(end + 1)} /></a><figcaption class="small" dir="auto">{line.slice(end + 1)}</figcaption></figure>;
      })}
    </div>
  );
}

/** The pictures before and after, in their order. */
function PictureLists({ from, to }: { from: string; to: string }) {
  return (
    <>
      {[[r.before, from], [r.after, to]].map(([label, list = ""]) => (
        <section key={label}>
          <p class="small muted">{label}{!list && ` (${r.emptyValue})`}</p>
          <Pictures list={list} />
        </section>
      ))}
    </>
  );
}

/** The parts that show a change of a field otherwise than as texts. */
const SHOWN: Record<string, typeof Logos> = { logo: Logos, pictures: PictureLists };

function Shown({ field, from, to }: Change) {
  const Part = SHOWN[field] ?? Difference;
  const said = (text: string) => added.own?.labelOfValue(field, text) ?? text;
  return <Part from={said(from)} to={said(to)} />;
}

/** Fields that changed, each with its words. */
export function Changed({ changes }: { changes: readonly Change[] }) {
  return (
    <dl class="q-changes">
      {changes.map(({ field, from, to }) => [<dt key={field}>{r.field(field)}</dt>, <dd key={`${field} text`} dir="auto"><Shown field={field} from={from} to={to} /></dd>])}
    </dl>
  );
}
