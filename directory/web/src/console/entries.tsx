// Entries of the audit log, as the log, the page of a user and the review queue show them.
import { signal } from "@preact/signals";
import { Time } from "../parts/time.tsx";
import { type Change, changesOf } from "../state/queue-story.ts";
import { Changed } from "./difference.tsx";
import { r } from "./review-text.ts";
import { sentence, type Entry } from "./sentences.ts";

const SHORT = 160; // characters of an edit that its entry shows; more can be unfolded
const unfolded = signal<ReadonlySet<number>>(new Set());

export function Sentence({ entry, projectAt }: { entry: Entry; projectAt?: string }) {
  return (
    <span class="sentence">
      {sentence(entry, projectAt).map(({ text, href }, place) => (href ? <a key={place} href={href}><bdi>{text}</bdi></a> : <bdi key={place}>{text}</bdi>))}
    </span>
  );
}

/** The reason, and what an edit changed. */
export function About({ entry }: { entry: Entry }) {
  const changes = changesOf([entry]);
  const length = changes.reduce((sum, { from, to }) => sum + from.length + to.length, 0);
  return (
    <>
      {entry.reason && <p class="reason" dir="auto">{entry.reason}</p>}
      {changes.length > 0 && (length <= SHORT ? <Changed changes={changes} />
        : <Folded id={entry.id} changes={changes} />)}
    </>
  );
}

/** Changes that are compared when they are asked for: texts may be long. */
function Folded({ id, changes }: { id: number; changes: readonly Change[] }) {
  const toggle = (event: Event) => {
    const others = [...unfolded.peek()].filter((each) => each !== id);
    unfolded.value = new Set((event.currentTarget as HTMLDetailsElement).open ? [...others, id] : others);
  };
  return (
    <details class="changes" onToggle={toggle}>
      <summary>{r.changedFields(changes.map(({ field }) => r.field(field)))}</summary>
      {unfolded.value.has(id) && <Changed changes={changes} />}
    </details>
  );
}

export function Entries({ entries, label }: { entries: readonly Entry[]; label?: string }) {
  return (
    <ol class="timeline" aria-label={label}>
      {entries.map((each) => (
        <li key={each.id} class={each.action.split(".")[1]}><Sentence entry={each} /> <Time at={each.at} /><About entry={each} /></li>
      ))}
    </ol>
  );
}
