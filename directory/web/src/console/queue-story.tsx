// What the log tells beside a submission: what changed since its last review, other submissions of its URL, its history.
import { Failed } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { diff, shortened } from "../state/queue-diff.ts";
import { history, historyOpen, story, toggleHistory } from "../state/queue-history.ts";
import { type Change, type Entry, type Other } from "../state/queue-story.ts";
import { t } from "../text.ts";
import { r } from "./review-text.ts";

export function Changes() {
  const told = story.value;
  const problem = history.problem.value;
  if (!told) return problem ? <Failed problem={problem} again={() => void history.again()} /> : <p class="muted">{t.loading}</p>;
  if (!told.decided) return <p class="muted">{r.first}</p>;
  return (
    <section>
      <h3>{r.since}</h3>
      <ol class="q-log"><Line entry={told.decided} /></ol>
      {told.changes.length === 0 ? <p class="muted">{r.unchanged}</p>
        : <dl class="q-changes">{told.changes.map((each) => <Field key={each.field} change={each} />)}</dl>}
    </section>
  );
}

function Field({ change: { field, from, to } }: { change: Change }) {
  return (
    <>
      <dt>{r.fields[field] ?? field}</dt>
      <dd dir="auto">
        {shortened(diff(from, to)).map(({ kind, text }, place) =>
          kind === "gone" ? <del key={place}><span class="unseen">[{r.gonePart}: </span>{text}<span class="unseen">]</span></del>
          : kind === "new" ? <ins key={place}><span class="unseen">[{r.newPart}: </span>{text}<span class="unseen">]</span></ins>
          : text)}
        {!to && <span class="muted"> ({r.emptyValue})</span>}
      </dd>
    </>
  );
}

export function Others() {
  const others = story.value?.others ?? [];
  if (!others.length) return null;
  return (
    <section>
      <h3>{r.others}</h3>
      <ul class="q-log">{others.map((each) => <Another key={each.id} other={each} />)}</ul>
    </section>
  );
}

function Another({ other: { id, title, last, deleted } }: { other: Other }) {
  return (
    <li>
      {deleted ? <strong dir="auto">{title}</strong> : <a href={`/admin/queue/${id}`} dir="auto">{title}</a>}
      {": "}<Sentence entry={last} />
      {last.reason && <p class="reason" dir="auto">{last.reason}</p>}
    </li>
  );
}

export function History() {
  const told = story.value;
  return (
    <section>
      <h3>
        <button type="button" class="link" aria-expanded={historyOpen.value} onClick={toggleHistory}>
          {historyOpen.value ? r.hideHistory : r.showHistory} <kbd>h</kbd>
        </button>
      </h3>
      {historyOpen.value && told && <ol class="q-log" aria-label={r.history}>{told.own.map((each) => <Line key={each.id} entry={each} />)}</ol>}
    </section>
  );
}

function Line({ entry }: { entry: Entry }) {
  const fields = Object.keys(entry.changes ?? {}).map((each) => r.fields[each] ?? each);
  return (
    <li>
      <Sentence entry={entry} />
      {fields.length > 0 && <span class="muted">: {fields.join(", ")}</span>}
      {entry.reason && <p class="reason" dir="auto">{entry.reason}</p>}
    </li>
  );
}

/** "grace rejected it 3 days ago". */
function Sentence({ entry: { actor, action, at } }: { entry: Entry }) {
  return <><strong>{actor?.username ?? r.system}</strong> {r.did[action] ?? action} <span class="muted"><Time at={at} /></span></>;
}
