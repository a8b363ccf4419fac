// What became of decisions: one line on the last act, with its undo, and a list with an outcome for each item.
import { Cross } from "../parts/icons.tsx";
import { type Outcome, outcomes, sending, tell, told, undo, waiting } from "../state/queue-decisions.ts";
import { t } from "../text.ts";
import { r } from "./review-text.ts";

export function DecisionBar() {
  const { text, bad, turn } = told.value;
  const canUndo = waiting.value.length > 0;
  return (
    <div class="q-bar" role="region" aria-label={r.lastDecision}>
      <div class={text || canUndo ? `q-told${bad ? " bad" : ""}` : ""}>
        <div role="status" class="grow">{text && <span key={turn} dir="auto">{text}</span>}</div>
        {canUndo && <button type="button" class="button small" onClick={undo}>{r.undo} <kbd>u</kbd></button>}
        {text && <button type="button" class="button small square ghost" aria-label={t.close} onClick={() => tell("")}><Cross /></button>}
      </div>
    </div>
  );
}

export function Outcomes() {
  return <OutcomeList list={outcomes.value} isBusy={sending.value > 0} clear={() => (outcomes.value = [])} />;
}

interface OutcomeListProps {
  list: readonly Outcome[];
  isBusy?: boolean;
  clear: () => void;
}

/** An outcome for each item that was decided. */
export function OutcomeList({ list, isBusy = false, clear }: OutcomeListProps) {
  if (!list.length && !isBusy) return null;
  return (
    <section class="q-outcomes" aria-label={r.outcomes} aria-busy={isBusy}>
      <header>
        <h2 class="grow">{r.outcomes}</h2>
        {isBusy && <span class="muted small">{r.busy}</span>}
        {list.length > 0 && <button type="button" class="button small ghost" onClick={clear}>{r.clear}</button>}
      </header>
      <ul tabIndex={list.length ? 0 : undefined} aria-label={r.outcomes}>
        {list.map(({ id, title, text, good }, place) => (
          <li key={`${list.length - place} ${id}`} class={good ? "" : "bad"}>
            <a href={`/admin/queue/${id}`} dir="auto">{title}</a><span>{text}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
