// The account: address, password, sessions, tokens.
import type { Schemas } from "../api/client.ts";
import { CheckField, Field, focusWrong, TextField } from "../parts/field.tsx";
import { MembersOnly } from "../parts/members.tsx";
import { Failed, Skeleton } from "../parts/states.tsx";
import { ago, Time } from "../parts/time.tsx";
import { Wrong } from "../parts/wrong.tsx";
import {
  busy, changeEmail, changePassword, createToken, endOthers, endSession, enterAccount, errors, made, rename, revokeToken, sessions, tokens, ways,
} from "../state/account.ts";
import { say } from "../state/notice.ts";
import type { Resource } from "../state/resource.ts";
import type { Page } from "../state/router.ts";
import { session, user } from "../state/session.ts";
import { agentOf } from "../parts/agent.ts";
import { f } from "../text.forms.ts";
import { t } from "../text.ts";
import { Export, Leave } from "./account-deletion.tsx";
import { Mail } from "./mail.tsx";
import { Passkeys } from "./passkeys.tsx";
import { WaysIn } from "./ways-in.tsx";

export const account: Page = { enter: enterAccount, view: AccountPage, title: () => f.accountTitle };

function AccountPage() {
  if (!session.value) return <div class="wide narrow"><Skeleton rows={3} /></div>;
  if (!user.value) return <MembersOnly />;
  return (
    <div class="wide narrow">
      <h1>{f.accountTitle}</h1>
      <Profile username={user.value.username} email={user.value.email} />
      <Mail />
      <Password username={user.value.username} />
      <WaysIn />
      <Passkeys />
      <Sessions />
      <Tokens />
      <Export />
      <Leave username={user.value.username} />
    </div>
  );
}

type Send = (given: (name: string) => string, form: HTMLFormElement) => Promise<boolean>;

/** What a form does when it is sent: empty fields and refused ones get the focus. */
function sending(send: Send) {
  return async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const given = new FormData(form);
    const taken = await send((name) => String(given.get(name) ?? ""), form);
    if (!taken) focusWrong(form);
  };
}

function Profile({ username, email }: { username: string; email: string }) {
  return (
    <section class="card">
      <h2>{f.profile}</h2>
      <p><span class="muted">{f.username}:</span> <a href={`/users/${username}`}>{username}</a></p>
      {user.value?.may_rename && <Rename username={username} />}
      <form class="form" noValidate onSubmit={sending((given) => changeEmail(given("email"), given("email_password")))}>
        <Wrong form="email" />
        <TextField name="email" label={f.email} hint={f.emailHint} type="email" autocomplete="email" defaultValue={email} error={errors.value.email?.email} />
        {ways.data.value?.has_password !== false && (
          <>
            <input type="text" name="username" autocomplete="username" value={username} hidden readOnly />
            <TextField name="email_password" label={f.emailPassword} type="password" autocomplete="current-password" error={errors.value.email?.current_password} />
          </>
        )}
        <button type="submit" class="button" aria-disabled={busy.value === "email"}>{f.saveEmail}</button>
      </form>
    </section>
  );
}

/** A username that a provider's name or address gave may be replaced once. */
function Rename({ username }: { username: string }) {
  return (
    <form class="form" noValidate onSubmit={sending((given) => rename(given("username")))}>
      <Wrong form="rename" />
      <TextField name="username" label={f.username} hint={f.usernameHint} autocomplete="username" autocapitalize="none" defaultValue={username} error={errors.value.rename?.username} />
      <button type="submit" class="button" aria-disabled={busy.value === "rename"}>{f.rename}</button>
    </form>
  );
}

function Password({ username }: { username: string }) {
  const wrong = errors.value.password;
  const passwordless = ways.data.value?.has_password === false;
  const send: Send = async (given, form) => {
    const wanting = [...(passwordless ? [] : ["current_password"]), "password"].filter((name) => !given(name));
    if (wanting.length) {
      errors.value = { ...errors.peek(), password: Object.fromEntries(wanting.map((name) => [name, f.required])) };
      return false;
    }
    const taken = await changePassword(given("current_password"), given("password"), given("revoke_tokens") !== "");
    if (taken) form.reset();
    return taken;
  };
  return (
    <section class="card">
      <h2>{f.passwordTitle}</h2>
      <form class="form" noValidate onSubmit={sending(send)}>
        <Wrong form="password" />
        <input type="text" name="username" autocomplete="username" value={username} hidden readOnly />
        {!passwordless && <TextField name="current_password" label={f.currentPassword} type="password" autocomplete="current-password" error={wrong?.current_password} />}
        <TextField name="password" label={f.newPassword} hint={f.passwordHint} type="password" autocomplete="new-password" error={wrong?.password} />
        <CheckField name="revoke_tokens" label={f.revokeTokens} />
        <button type="submit" class="button" aria-disabled={busy.value === "password"}>{f.changePassword}</button>
      </form>
    </section>
  );
}

/** What a list is while it has not been read. */
function Waiting({ list }: { list: Resource<readonly unknown[]> }) {
  const problem = list.problem.value;
  return problem ? <Failed problem={problem} again={() => void list.again()} /> : <p class="muted">{t.loading}</p>;
}

function Sessions() {
  const shown = sessions.data.value;
  const others = shown?.filter((each) => !each.current).length ?? 0;
  return (
    <section class="card">
      <h2>{f.sessions}</h2>
      <p class="muted">{others || !shown ? f.sessionsLead : f.noOthers}</p>
      <Wrong form="sessions" />
      {shown ? <ul class="items">{shown.map((each) => <SessionItem key={each.id} session={each} />)}</ul> : <Waiting list={sessions} />}
      {others > 0 && <button type="button" class="button" aria-disabled={busy.value !== ""} onClick={() => void endOthers()}>{f.endOthers}</button>}
    </section>
  );
}

function SessionItem({ session: { id, user_agent, last_seen_at, current } }: { session: Schemas["Session"] }) {
  return (
    <li>
      <span class="grow">
        <strong title={user_agent}>{agentOf(user_agent) || f.unknownAgent}</strong>
        <span class="small muted">{current ? f.thisSession : <>{f.lastSeen} <Time at={last_seen_at} /></>}</span>
      </span>
      {!current && <button type="button" class="button small" onClick={() => void endSession(id)}>{f.end}</button>}
    </li>
  );
}

function Tokens() {
  const shown = tokens.data.value;
  return (
    <section class="card">
      <h2>{f.tokens}</h2>
      <p class="muted">{f.tokensLead}</p>
      <MadeToken />
      <Wrong form="tokens" />
      {shown ? <ul class="items">{shown.map((each) => <TokenItem key={each.id} token={each} />)}</ul> : <Waiting list={tokens} />}
      {shown?.length === 0 && <p class="muted">{f.noTokens}</p>}
      <TokenForm />
    </section>
  );
}

function MadeToken() {
  const token = made.value;
  if (!token) return null;
  const copy = async () => {
    await navigator.clipboard.writeText(token.token);
    say(f.copied);
  };
  return (
    <div class="banner good" role="status">
      <div class="grow"><p><strong>{f.tokenMade}</strong></p><code class="secret" tabIndex={0}>{token.token}</code></div>
      <button type="button" class="button small" onClick={() => void copy()}>{f.copy}</button>
    </div>
  );
}

function TokenItem({ token: { id, name, last_used_at, expires_at } }: { token: Schemas["Token"] }) {
  const used = last_used_at ? f.lastUsed(ago(last_used_at)) : f.neverUsed;
  return (
    <li>
      <span class="grow">
        <strong dir="auto">{name}</strong>
        <span class="small muted">{used}, {expires_at ? f.expires(ago(expires_at)) : f.neverExpires}</span>
      </span>
      <button type="button" class="button small" aria-label={`${f.revoke} ${name}`} onClick={() => void revokeToken(id)}>{f.revoke}</button>
    </li>
  );
}

function TokenForm() {
  const send: Send = async (given, form) => {
    const taken = await createToken(given("name"), Number(given("days")));
    if (taken) form.reset();
    return taken;
  };
  return (
    <form class="form inline" noValidate onSubmit={sending(send)}>
      <Wrong form="token" />
      <TextField name="name" label={f.tokenName} hint={f.tokenNameHint} autocomplete="off" maxLength={100} error={errors.value.token?.name} />
      <Field name="days" label={f.tokenExpiry} error={errors.value.token?.expires_at}>
        {(attributes) => (
          <select {...attributes} name="days">{Object.entries(f.expiries).map(([days, text]) => <option key={days} value={days}>{text}</option>)}</select>
        )}
      </Field>
      <button type="submit" class="button" aria-disabled={busy.value === "token"}>{f.makeToken}</button>
    </form>
  );
}
