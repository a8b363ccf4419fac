// The dialog that asks before something is changed.
import { added } from "../extras/extra.ts";
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

function AskedField({ asked, autofocus, error }: AskedFieldProps) {
  const { name, label, hint, kind, value, optional, replies, options = [] } = asked;
  if (kind === "many") return <Many asked={asked} error={error} />;
  if (kind === "check") {
    return <label class="check"><input type="checkbox" name={name} value="yes" autofocus={autofocus} defaultChecked={value === "yes"} /> <span>{label}</span></label>;
  }
  const about = { name, label, hint, optional, error };
  if (kind === "choice") {
    return (
      <Field {...about}>
        {(attributes) => (
          <select {...attributes} name={name} autofocus={autofocus}>
            {options.map(([each, text]) => <option key={each} value={each} selected={each === value}>{text}</option>)}
          </select>
        )}
      </Field>
    );
  }
  if (kind !== "text") return <TextField {...about} autofocus={autofocus} defaultValue={value} autocomplete="off" spellcheck={false} />;
  return (
    <Field {...about}>
      {(attributes) => (
        <>
          {replies && added.saved && <added.saved.Menu {...replies} take={(text) => ((document.getElementById(attributes.id) as HTMLTextAreaElement).value = text)} />}
          <textarea {...attributes} name={name} rows={4} dir="auto" autofocus={autofocus} defaultValue={value} />
        </>
      )}
    </Field>
  );
}

function Many({ asked: { name, label, hint, value = "", options = [] }, error }: Omit<AskedFieldProps, "autofocus">) {
  const chosen = value.split(",");
  return (
    <fieldset class={`field ${name}`}>
      <legend>{label}</legend>
      {error && <p class="error" id={`${name}-error`}>{error}</p>}
      {hint && <p class="hint">{hint}</p>}
      <div class="chips">
        {options.map(([each, text], place) => (
          <label class="check" key={each}>
            <input type="checkbox" name={name} value={each} defaultChecked={chosen.includes(each)}
              aria-invalid={(error && place === 0) || undefined} aria-describedby={error && `${name}-error`} />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

async function submit(event: SubmitEvent): Promise<void> {
  event.preventDefault();
  const form = event.currentTarget as HTMLFormElement;
  const data = new FormData(form);
  const given = Object.fromEntries([...data.keys()].map((name) => [name, data.getAll(name).join(",")]));
  if (!(await answer(given))) focusWrong(form);
}
