// Entries of the audit log, as the log and the page of a user show them.
import { Time } from "../parts/time.tsx";
import { changesOf, sentence, type Entry } from "./sentences.ts";
import { w } from "./tables-text.ts";

const SHORT = 120; // characters of a value that stand in the line; longer ones unfold

export function Sentence({ entry }: { entry: Entry }) {
  return (
    <span class="sentence">
      {sentence(entry).map(({ text, href }, place) => (href ? <a key={place} href={href}><bdi>{text}</bdi></a> : <bdi key={place}>{text}</bdi>))}
    </span>
  );
}

/** The reason, and what an edit changed. */
export function About({ entry }: { entry: Entry }) {
  const changes = changesOf(entry);
  return (
    <>
      {entry.reason && <p class="reason" dir="auto">{entry.reason}</p>}
      {changes.length > 0 && <dl class="changes">{changes.map((each) => <Changed key={each.field} {...each} />)}</dl>}
    </>
  );
}

function Changed({ field, from, to }: { field: string; from: string; to: string }) {
  const values = <><del dir="auto">{from}</del> <span aria-hidden="true">→</span> <ins dir="auto">{to}</ins></>;
  if (from.length + to.length <= SHORT) return <div><dt>{field}</dt><dd>{values}</dd></div>;
  return <div><dt>{field}</dt><dd><details><summary>{w.details}</summary>{values}</details></dd></div>;
}

export function Entries({ entries }: { entries: readonly Entry[] }) {
  return (
    <ol class="timeline">
      {entries.map((each) => (
        <li key={each.id} class={each.action.split(".")[1]}><Sentence entry={each} /> <Time at={each.at} /><About entry={each} /></li>
      ))}
    </ol>
  );
}
