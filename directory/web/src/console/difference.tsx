// What differs between two texts, with the words marked; a screen reader hears which were removed and which added.
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

/** Fields that changed, each with its words. */
export function Changed({ changes }: { changes: readonly Change[] }) {
  return (
    <dl class="q-changes">
      {changes.map(({ field, from, to }) => [<dt key={field}>{r.fields[field] ?? field}</dt>, <dd key={`${field} text`} dir="auto">{field === "logo" ? <Logos from={from} to={to} /> : <Difference from={from} to={to} />}</dd>])}
    </dl>
  );
}
