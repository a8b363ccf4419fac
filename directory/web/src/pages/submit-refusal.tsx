// What the service refused of a project's form: shown above it, scrolled to, focused and read out; and what reviewers refused.
import type { ComponentChildren } from "preact";
import { showHere } from "../parts/wrong.tsx";
import { type Draft, EMPTY } from "../state/draft.ts";
import { FORM } from "../state/form.ts";
import { draft, existing, problem, rejectedDraft, takeRejected, theirs, write } from "../state/submission.ts";
import { f } from "../text.forms.ts";

/** What the service refused of the whole. */
export function Refusal() {
  const refusal = problem.value;
  if (!refusal) return null;
  if (refusal.status === 412 && theirs.value) return null; // it is said where both texts are
  const own = existing(refusal);
  const isOut = refusal.status === 401;
  const detail = isOut ? f.signedOutWhy : Object.keys(refusal.fields).some((name) => name in EMPTY) ? f.correct : refusal.detail;
  return (
    <div class="banner bad" role="alert" tabIndex={-1} ref={showHere}>
      <p><strong>{isOut ? f.signedOutNow : refusal.title}.</strong> {detail}</p>
      {own && <a class="button small" href={`/submit?project=${own.id}`}>{own.title}</a>}
    </div>
  );
}

/** What reviewers refused, and why. */
export function Refused({ title, reason, children }: { title: string; reason: string | null; children?: ComponentChildren }) {
  return (
    <div class="banner rejected">
      <div class="grow"><p><strong>{title}</strong></p>{reason && <p dir="auto">{reason}</p>}{children}</div>
    </div>
  );
}

/** Offers the text of the changes that were rejected, while the form does not have it. */
export function TakeRejected() {
  if (!rejectedDraft.value) return null;
  return (
    <>
      <p>{f.takeRejectedWhy}</p>
      <p class="actions"><button type="button" class="button small" onClick={takeRejected}>{f.takeRejected}</button></p>
    </>
  );
}

/** What another one saved meanwhile, beside what is written here, field by field. */
export function Both() {
  const saved = theirs.value;
  if (!saved) return null;
  const names = (Object.keys(FORM) as (keyof Draft)[]).filter((name) => saved[name] !== draft.value[name]);
  return (
    <div class="banner bad both" tabIndex={-1} ref={showHere}>
      <p role="alert"><strong>{f.changed}.</strong> {f.changedWhy}</p>
      {names.map((name) => (
        <section key={name}>
          <div><h3>{f.yours(FORM[name].label)}</h3><p dir="auto">{draft.value[name] || f.nothing}</p></div>
          <div>
            <h3>{f.theirs(FORM[name].label)}</h3><p dir="auto">{saved[name] || f.nothing}</p>
            <button type="button" class="button small" onClick={() => write(name, saved[name])}>{f.take(FORM[name].label)}</button>
          </div>
        </section>
      ))}
    </div>
  );
}
