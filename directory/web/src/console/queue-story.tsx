// The log next to a submission: the changes since its last review, other submissions of its URL, its history.
import { decided } from "../api/events.ts";
import { Failed } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { history, historyOpen, story, toggleHistory } from "../state/queue-history.ts";
import { type Other } from "../state/queue-story.ts";
import { item } from "../state/queue.ts";
import { t } from "../text.ts";
import { Changed } from "./difference.tsx";
import { Entries, Sentence } from "./entries.tsx";
import { r } from "./review-text.ts";

export function Changes() {
  const told = story.value;
  const problem = history.problem.value;
  if (!told) return problem ? <Failed problem={problem} again={() => void history.again()} /> : <p class="muted">{t.loading}</p>;
  if (!told.decided) return <p class="muted">{r.first}</p>;
  return (
    <section>
      <h3>{item.value?.status === "live" ? r.lastDecision : r.since}</h3>
      <p><Sentence entry={told.decided} /> <span class="muted"><Time at={told.decided.at} /></span></p>
      {told.decided.reason && <p class="reason" dir="auto">{told.decided.reason}</p>}
      {item.value?.status === "live" ? null : told.changes.length === 0 ? <p class="muted">{r.unchanged}</p>
        : <Changed changes={told.changes} />}
    </section>
  );
}

export function Others() {
  const others = story.value?.others ?? [];
  if (!others.length) return null;
  const isListed = others.some((each) => each.last.action === decided.approve || each.last.action === "project.imported");
  return (
    <section>
      <h3>{r.others}</h3>
      {isListed && <p class="banner pending"><strong>{r.isListed}</strong></p>}
      <ul class="q-log">{others.map((each) => <Another key={each.id} other={each} />)}</ul>
    </section>
  );
}

function Another({ other: { id, last } }: { other: Other }) {
  return (
    <li>
      <Sentence entry={last} projectAt={`/admin/queue/${id}`} /> <span class="muted"><Time at={last.at} /></span>
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
      {historyOpen.value && told && <Entries entries={told.own} label={r.history} />}
    </section>
  );
}
