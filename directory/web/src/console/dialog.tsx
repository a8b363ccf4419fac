// The dialog that asks before something is changed.
import { Field, focusWrong, TextField } from "../parts/field.tsx";
import { showHere } from "../parts/wrong.tsx";
import { readOnly } from "../state/session.ts";
import { t } from "../text.ts";
import { answer, busy, close, type DialogField, problem, question } from "./dialog-state.ts";
import { Sheet } from "./sheet.tsx";
import { w } from "./text.ts";

export function QuestionDialog() {
  const asked = question.value;
  if (!asked) return null;
  const refused = problem.value;
  const fields = asked.fields ?? [];
  const whole = refused && !fields.some(({ name }) => refused.fields[name]);
  return (
    <Sheet name="question" title={asked.title} close={close} onSubmit={submit}>
      {asked.text && <p class="muted">{asked.text}</p>}
      {whole && <p class="banner bad" role="alert" tabIndex={-1} ref={showHere}>{refused.detail}</p>}
      {readOnly.value && <p class="banner">{w.readOnly}</p>}
      {fields.map((each, place) => <AskedField key={each.name} asked={each} autofocus={place === 0} error={refused?.fields[each.name]} />)}
      <p class="actions">
        <button type="submit" class={`button ${asked.danger ? "danger" : "primary"}`} disabled={busy.value !== "" || readOnly.value}>{asked.action}</button>
        <button type="button" class="button" autofocus={fields.length === 0} onClick={close}>{t.cancel}</button>
      </p>
    </Sheet>
  );
}

interface AskedFieldProps {
  asked: DialogField;
  autofocus: boolean;
  error?: string;
}

function AskedField({ asked: { name, label, hint, kind, value, optional }, autofocus, error }: AskedFieldProps) {
  if (kind === "check") {
    return <label class="check"><input type="checkbox" name={name} value="yes" autofocus={autofocus} defaultChecked={value === "yes"} /> <span>{label}</span></label>;
  }
  const about = { name, label, hint, optional, error };
  if (kind !== "text") return <TextField {...about} autofocus={autofocus} defaultValue={value} autocomplete="off" spellcheck={false} />;
  return (
    <Field {...about}>
      {(attributes) => <textarea {...attributes} name={name} rows={4} dir="auto" autofocus={autofocus} defaultValue={value} />}
    </Field>
  );
}

async function submit(event: SubmitEvent): Promise<void> {
  event.preventDefault();
  const form = event.currentTarget as HTMLFormElement;
  const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
  if (!(await answer(given))) focusWrong(form);
}
