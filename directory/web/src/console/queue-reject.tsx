// The dialog with the reasons of a rejection: one of those that are often given, or one's own.
import { Field } from "../parts/field.tsx";
import { rejecting } from "../state/queue-decisions.ts";
import { choose, confirmReason, MOST, place, reason, unexplained, write } from "../state/queue-reason.ts";
import { itemOf } from "../state/queue.ts";
import { t } from "../text.ts";
import { r } from "./review-text.ts";
import { Sheet } from "./sheet.tsx";

export function ReasonDialog() {
  const ids = rejecting.value;
  if (!ids) return null;
  const title = itemOf(ids[0] ?? 0)?.title ?? "";
  return (
    <Sheet name="reject" title={ids.length > 1 ? r.rejectTitleMany(ids.length) : r.rejectTitle(title)} close={close} onSubmit={submit}>
      <fieldset>
        <legend>{r.canned}</legend>
        {r.reasons.map((text, each) => (
          <label key={text}>
            <input type="radio" name="canned" autofocus={each === 0} checked={place.value === each} onChange={() => choose(each)} />
            <kbd aria-hidden="true">{each + 1}</kbd><span>{text}</span>
          </label>
        ))}
      </fieldset>
      <Field name="reason" label={r.reason} hint={r.reasonHint} optional left={MOST - [...reason.value].length}>
        {(attributes) => <textarea {...attributes} dir="auto" value={reason.value} onInput={(event) => write(event.currentTarget.value)} />}
      </Field>
      {unexplained.value && !reason.value.trim() && <p class="banner pending" role="alert">{r.noReason(ids.length)}</p>}
      <p class="actions">
        <button type="submit" class="button danger" disabled={[...reason.value.trim()].length > MOST}>{ids.length > 1 ? r.rejectMany(ids.length) : r.reject}</button>
        <button type="button" class="button" onClick={close}>{t.cancel}</button>
      </p>
    </Sheet>
  );
}

function close(): void {
  rejecting.value = null;
}

function submit(event: SubmitEvent): void {
  event.preventDefault();
  confirmReason();
}
