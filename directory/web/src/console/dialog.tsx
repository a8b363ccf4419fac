// The dialog that asks before something is changed.
import { Field, focusWrong, TextField } from "../parts/field.tsx";
import { Cross } from "../parts/icons.tsx";
import { readOnly } from "../state/session.ts";
import { t } from "../text.ts";
import { answer, type Asked, busy, close, problem, question } from "./asking.ts";
import { w } from "./tables-text.ts";

export function QuestionDialog() {
  const asked = question.value;
  if (!asked) return null;
  const refused = problem.value;
  const fields = asked.fields ?? [];
  const whole = refused && !fields.some(({ name }) => refused.fields[name]);
  return (
    <dialog class="sheet-dialog" aria-labelledby="question-title" ref={open} onClose={close} onClick={closeOutside}>
      <form noValidate onSubmit={submit}>
        <header>
          <h2 id="question-title">{asked.title}</h2>
          <button type="button" class="button square ghost" aria-label={t.close} onClick={close}><Cross /></button>
        </header>
        {asked.text && <p class="muted">{asked.text}</p>}
        {whole && <p class="banner bad" role="alert">{refused.detail}</p>}
        {readOnly.value && <p class="banner">{w.readOnly}</p>}
        {fields.map((each) => <AskedField key={each.name} asked={each} error={refused?.fields[each.name]} />)}
        <p class="answers">
          <button type="button" class="button" onClick={close}>{t.cancel}</button>
          <button type="submit" class={`button ${asked.danger ? "danger" : "primary"}`} disabled={busy.value !== "" || readOnly.value}>{asked.action}</button>
        </p>
      </form>
    </dialog>
  );
}

function AskedField({ asked: { name, label, hint, kind, value, optional }, error }: { asked: Asked; error?: string }) {
  if (kind === "check") {
    return <label class="check"><input type="checkbox" name={name} value="yes" defaultChecked={value === "yes"} /> <span>{label}</span></label>;
  }
  const about = { name, label, hint, optional, error };
  if (kind !== "text") return <TextField {...about} defaultValue={value} autocomplete="off" spellcheck={false} />;
  return <Field {...about}>{(attributes) => <textarea {...attributes} name={name} rows={4} dir="auto" defaultValue={value} />}</Field>;
}

function open(element: HTMLDialogElement | null): void {
  if (element && !element.open) element.showModal();
}

function closeOutside(event: MouseEvent): void {
  if (event.target === event.currentTarget) close();
}

async function submit(event: SubmitEvent): Promise<void> {
  event.preventDefault();
  const form = event.currentTarget as HTMLFormElement;
  const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
  if (!(await answer(given))) focusWrong(form);
}
