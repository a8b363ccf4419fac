// Signing in and creating an account, in a dialog over the page that one is on.
import { signal } from "@preact/signals";
import { Problem } from "../api/client.ts";
import { dialog, session, signIn, signUp } from "../state/session.ts";
import { f } from "../text.forms.ts";
import { t } from "../text.ts";
import { focusWrong, TextField } from "./field.tsx";
import { Cross } from "./icons.tsx";
import { Providers } from "./providers.tsx";

const busy = signal(false);
const problem = signal<Problem | null>(null);
const errors = signal<Record<string, string>>({});
const EMAIL = /^[^\s@]+@[^\s@]+$/;
const NAME = /^[a-z0-9_-]{3,32}$/;

export function SignIn() {
  const asked = dialog.value;
  if (!asked) return null;
  const closed = asked.mode === "up" && session.value?.registration_open === false;
  return (
    <dialog class="sheet-dialog" aria-labelledby="sign-in-title" ref={open} onClose={close} onClick={closeOutside}>
      <form noValidate onSubmit={submit}>
        <header>
          <h2 id="sign-in-title">{asked.mode === "in" ? f.signInTitle : f.signUpTitle}</h2>
          <button type="button" class="button square ghost" aria-label={t.close} onClick={close}><Cross /></button>
        </header>
        {asked.reason && asked.mode === "in" && <p class="muted">{asked.reason}</p>}
        {problem.value && <p class="banner bad" role="alert">{problem.value.detail}</p>}
        {closed ? <p class="banner">{f.closed}</p> : asked.mode === "in" ? <InFields /> : <UpFields />}
        {!closed && (
          <button type="submit" class="button primary block" disabled={busy.value}>
            {busy.value ? f.busy : asked.mode === "in" ? f.signIn : f.signUp}
          </button>
        )}
        {!closed && <Providers />}
        <p class="small muted center">
          {asked.mode === "in" ? f.toSignUpLead : f.toSignInLead}{" "}
          <button type="button" class="link" onClick={(event) => change(event.currentTarget.form)}>{asked.mode === "in" ? f.toSignUp : f.toSignIn}</button>
        </p>
      </form>
    </dialog>
  );
}

function InFields() {
  return (
    <div key="in">
      <TextField name="login" label={f.login} error={errors.value.login} autocomplete="username" autocapitalize="none"
        spellcheck={false} autofocus required />
      <TextField name="password" label={f.password} error={errors.value.password} type="password"
        autocomplete="current-password" required />
      {session.value?.password_reset && <p class="small"><a href="/reset" onClick={close}>{f.forgotten}</a></p>}
    </div>
  );
}

function UpFields() {
  return (
    <div key="up">
      <TextField name="username" label={f.username} hint={f.usernameHint} error={errors.value.username}
        autocomplete="username" autocapitalize="none" spellcheck={false} autofocus required />
      <TextField name="email" label={f.email} hint={f.emailHint} error={errors.value.email} type="email"
        autocomplete="email" required />
      <TextField name="password" label={f.password} hint={f.passwordHint} error={errors.value.password} type="password"
        autocomplete="new-password" required />
    </div>
  );
}

function open(element: HTMLDialogElement | null): void {
  if (element && !element.open) element.showModal();
}

function close(): void {
  dialog.value = null;
  problem.value = null;
  errors.value = {};
}

function closeOutside(event: MouseEvent): void {
  if (event.target === event.currentTarget) close();
}

function change(form: HTMLFormElement | null): void {
  const asked = dialog.value;
  problem.value = null;
  errors.value = {};
  if (asked) dialog.value = { ...asked, mode: asked.mode === "in" ? "up" : "in" };
  setTimeout(() => form?.querySelector("input")?.focus()); // once the other fields are there
}

/** What can be seen to be wrong before the service is asked. */
function check(mode: "in" | "up", given: Record<string, string>): Record<string, string> {
  const wrong: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) if (!value) wrong[name] = f.required;
  if (mode === "in") return wrong;
  if (given.username && !NAME.test(given.username)) wrong.username = f.usernameWrong;
  if (given.email && !EMAIL.test(given.email)) wrong.email = f.emailWrong;
  if (given.password && given.password.length < 8) wrong.password = f.passwordShort;
  return wrong;
}

async function submit(event: SubmitEvent): Promise<void> {
  event.preventDefault();
  const form = event.currentTarget as HTMLFormElement;
  const mode = dialog.value?.mode ?? "in";
  const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
  if (busy.value) return;
  problem.value = null;
  errors.value = check(mode, given);
  if (Object.keys(errors.value).length) return focusWrong(form);
  busy.value = true;
  try {
    const { login = "", username = "", email = "", password = "" } = given;
    await (mode === "in" ? signIn(login, password) : signUp(username, email, password));
    close();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    errors.value = error.fields;
    if (!Object.keys(error.fields).length) problem.value = error;
    focusWrong(form);
  } finally {
    busy.value = false;
  }
}
