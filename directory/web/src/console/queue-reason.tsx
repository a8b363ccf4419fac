// The dialog that asks for the text of a rejection, or of a request for changes: a saved reply, or one's own words.
import { added } from "../extras/extra.ts";
import { Field } from "../parts/field.tsx";
import { asking } from "../state/queue-decisions.ts";
import { choices, choose, confirmReason, left, place, reason, unexplained, write } from "../state/queue-reason.ts";
import { itemOf } from "../state/queue.ts";
import { t } from "../text.ts";
import { r } from "./review-text.ts";
import { Sheet } from "./sheet.tsx";

export function ReasonDialog() {
  const asked = asking.value;
  if (!asked) return null;
  const { decision, ids: { length } } = asked;
  const texts = r.ask[decision];
  const isRejection = decision === "reject";
  const replies = choices.value;
  return (
    <Sheet name="reason" title={texts.title(length, itemOf(asked.ids[0] ?? 0)?.title ?? "")} close={close} onSubmit={submit}>
      {replies.length > 0 && (
        <fieldset>
          <legend>{added.saved?.title}</legend>
          {replies.map(({ id, name }, each) => (
            <label key={id}>
              <input type="radio" name="reply" autofocus={each === 0} checked={place.value === each} onChange={() => choose(each)} />
              {each < 9 && <kbd aria-hidden="true">{each + 1}</kbd>}<span dir="auto">{name}</span>
            </label>
          ))}
        </fieldset>
      )}
      <Field name="reason" label={texts.label} hint={texts.hint} optional={isRejection} left={left.value}>
        {(attributes) => <textarea {...attributes} dir="auto" autofocus={!replies.length} value={reason.value} onInput={(event) => write(event.currentTarget.value)} />}
      </Field>
      {unexplained.value && !reason.value.trim() && <p class="banner pending" role="alert">{texts.none(length)}</p>}
      <p class="actions">
        <button type="submit" class={`button ${isRejection ? "danger" : "primary"}`} disabled={left.value < 0}>{texts.action(length)}</button>
        <button type="button" class="button" onClick={close}>{t.cancel}</button>
      </p>
    </Sheet>
  );
}

function close(): void {
  asking.value = null;
}

function submit(event: SubmitEvent): void {
  event.preventDefault();
  confirmReason();
}
