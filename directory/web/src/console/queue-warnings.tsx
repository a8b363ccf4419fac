// The warnings of a submission in words: where it is reviewed, and in the question before it is approved.
import { marked } from "../state/lookalikes.ts";
import { addressOf } from "../state/queue-address.ts";
import type { Item } from "../state/queue.ts";
import { rulesOf } from "./queue-held.tsx";
import { r } from "./review-text.ts";

export function Warnings({ item: { title, revision, warnings, resembles } }: { item: Item }) {
  if (!warnings.length) return null;
  const rules = rulesOf(warnings);
  return (
    <ul class="banner pending q-warnings" aria-label={r.warningsOf}>
      {warnings.filter((each) => r.warnings[each]).map((each) => (
        <li key={each}>
          {r.warnings[each]?.text}{each === "lookalike_title" && <>: <Marked title={revision?.changes.title ?? title} /></>}. <Other name={each} resembles={resembles} />
        </li>
      ))}
      {rules.length > 0 && <li>{r.matched}: <bdi>{rules.join(", ")}</bdi>.</li>}
    </ul>
  );
}

function Marked({ title }: { title: string }) {
  return <strong dir="auto">{marked(title).map(([text, isMarked], place) => (isMarked ? <mark key={place}>{text}</mark> : text))}</strong>;
}

/** The project that a warning is about, where the reviewer may see it. */
function Other({ name, resembles }: { name: string; resembles: Item["resembles"] }) {
  const other = resembles[name as keyof typeof resembles];
  return other ? <>{r.compare} <a href={addressOf(other.id)} target="_blank" dir="auto">{other.title}</a></> : null;
}
