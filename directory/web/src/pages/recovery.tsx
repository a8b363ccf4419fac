// The pages that mailed links lead to: a new password, and an address to confirm.
import { CheckField, focusWrong, TextField } from "../parts/field.tsx";
import { NotFound } from "../parts/notfound.tsx";
import { Skeleton } from "../parts/states.tsx";
import { busy, done, enterRecovery, errors, forgot, reset, token, verify } from "../state/recovery.ts";
import type { Page } from "../state/router.ts";
import { askToSignIn, session, user } from "../state/session.ts";
import { f } from "../text.forms.ts";

export const resetPage: Page = { enter: enterRecovery, view: ResetPage, title: () => f.resetTitle };
export const verifyPage: Page = { enter: enterRecovery, view: VerifyPage, title: () => f.verifyTitle };

function ResetPage() {
  if (!session.value) return <div class="wide narrow"><Skeleton rows={3} /></div>;
  if (!session.value.password_reset) return <NotFound />;
  return (
    <div class="wide narrow">
      <h1>{f.resetTitle}</h1>
      {done.value === "reset" ? <Reset /> : done.value === "mailed" ? <p class="banner good" role="status">{f.forgotSent}</p> : token.value ? <ResetForm /> : <ForgotForm />}
    </div>
  );
}

function Reset() {
  return (
    <>
      <p class="banner good" role="status">{f.resetDone}</p>
      {!user.value && <button type="button" class="button primary" onClick={() => askToSignIn("")}>{f.signIn}</button>}
    </>
  );
}

function sending(send: (given: FormData) => Promise<boolean>) {
  return async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (!(await send(new FormData(form)))) focusWrong(form);
  };
}

function Wrong() {
  const whole = errors.value[""];
  return whole ? <p class="banner bad" role="alert">{whole}</p> : null;
}

function ForgotForm() {
  return (
    <form class="card form" noValidate onSubmit={sending((given) => forgot(String(given.get("login") ?? "")))}>
      <p class="muted">{f.forgotLead}</p>
      <Wrong />
      <TextField name="login" label={f.login} autocomplete="username" autocapitalize="none" spellcheck={false} error={errors.value.login} />
      <button type="submit" class="button primary" disabled={busy.value}>{f.forgotSend}</button>
    </form>
  );
}

function ResetForm() {
  const send = (given: FormData) => reset(String(given.get("password") ?? ""), given.has("revoke_tokens"));
  return (
    <form class="card form" noValidate onSubmit={sending(send)}>
      <Wrong />
      <input type="text" name="username" autocomplete="username" hidden readOnly />
      <TextField name="password" label={f.newPassword} hint={f.passwordHint} type="password" autocomplete="new-password" error={errors.value.password} />
      <CheckField name="revoke_tokens" label={f.revokeTokens} />
      <button type="submit" class="button primary" disabled={busy.value}>{f.resetSave}</button>
      <p class="small muted"><a href="/reset">{f.forgotAgain}</a></p>
    </form>
  );
}

function VerifyPage() {
  return (
    <div class="wide narrow">
      <h1>{f.verifyTitle}</h1>
      {done.value === "verified" ? <p class="banner good" role="status">{f.verifyDone}</p> : <VerifyForm />}
    </div>
  );
}

function VerifyForm() {
  if (!token.value) return <p class="muted">{f.verifyNone} <a href="/account">{f.accountTitle}</a></p>;
  return (
    <div class="card form">
      <p class="muted">{f.verifyLead}</p>
      <Wrong />
      <button type="button" class="button primary" disabled={busy.value} onClick={() => void verify()}>{f.verifySend}</button>
    </div>
  );
}
