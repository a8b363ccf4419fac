// What belongs to an account: its sessions and tokens, and how it is changed.
import { signal } from "@preact/signals";
import { api, ask, Problem, type Schemas } from "../api/client.ts";
import { askPasskey, createPasskey, PasskeyFailed } from "../parts/passkey.ts";
import { f } from "../text.forms.ts";
import { now } from "./clock.ts";
import { dropAll } from "./draft.ts";
import { say, sayThere } from "./notice.ts";
import { Resource } from "./resource.ts";
import { navigate } from "./router.ts";
import { afterSession, learn, loadSession, onNewCaller, renew, session, user } from "./session.ts";

export const sessions = new Resource<readonly Schemas["Session"][]>(true);
export const tokens = new Resource<readonly Schemas["Token"][]>(true);
export const ways = new Resource<Schemas["IdentityList"]>(true);
export const passkeys = new Resource<readonly Schemas["Passkey"][]>(true);
export const made = signal<Schemas["NewToken"] | null>(null); // the token that was just created: shown once
export const busy = signal(""); // the form that is being sent
export const errors = signal<Record<string, Record<string, string>>>({}); // of each form, by field; "" for the whole

onNewCaller(clear);

export function enterAccount(): void {
  clear();
  afterSession(() => {
    if (!user.peek()) return;
    loadSessions();
    loadTokens();
    loadWays();
    loadPasskeys();
  });
}

function clear(): void {
  made.value = null;
  errors.value = {};
  sessions.clear();
  tokens.clear();
  ways.clear();
  passkeys.clear();
}

function loadSessions(): void {
  void sessions.load("sessions", async (signal) => (await ask(api.GET("/api/auth/sessions", { signal }))).items);
}

function loadTokens(): void {
  void tokens.load("tokens", async (signal) => (await ask(api.GET("/api/auth/tokens", { signal }))).items);
}

/** Nothing is asked where the site has no providers. */
function loadWays(): void {
  if (!session.peek()?.providers.length) return;
  void ways.load("ways", (signal) => ask(api.GET("/api/auth/identities", { signal })));
}

/** Nothing is asked where the site has no passkeys. */
function loadPasskeys(): void {
  if (!session.peek()?.passkeys) return;
  void passkeys.load("passkeys", async (signal) => (await ask(api.GET("/api/auth/passkeys", { signal }))).items);
}

/** Have the browser make a passkey, and add it to the account. */
export function addPasskey(name: string): Promise<boolean> {
  return attempt("passkeys", async () => {
    const credential = await createPasskey(await ask(api.POST("/api/auth/passkeys/options")));
    await ask(api.POST("/api/auth/passkeys", { body: { credential, ...(name.trim() && { name }) } }));
    loadPasskeys();
    say(f.passkeyAdded);
  });
}

export function renamePasskey(passkey_id: number, name: string): Promise<boolean> {
  return attempt("passkeys", async () => {
    await ask(api.PUT("/api/auth/passkeys/{passkey_id}", { params: { path: { passkey_id } }, body: { name } }));
    loadPasskeys();
    say(f.passkeyRenamed);
  }, false);
}

export function removePasskey(passkey_id: number): Promise<boolean> {
  return attempt("passkeys", async () => {
    await ask(api.DELETE("/api/auth/passkeys/{passkey_id}", { params: { path: { passkey_id } } }));
    loadPasskeys();
    say(f.passkeyRemoved);
  });
}

/** Sign in by a passkey where somebody is signed in already: an administrator, who needs it. */
export function signInByPasskey(): Promise<boolean> {
  return attempt("passkey", async () => {
    const credential = await askPasskey(await ask(api.POST("/api/auth/passkeys/login/options")));
    await ask(api.POST("/api/auth/passkeys/login", { body: { credential } }));
    await renew();
  });
}

/** Leave for a provider, which is joined to the account when one comes back. */
export function join(provider: string): Promise<boolean> {
  return attempt("ways", async () => {
    location.assign((await ask(api.POST("/api/auth/identities", { body: { provider } }))).location);
  });
}

export function removeIdentity(id: number): Promise<boolean> {
  return attempt("ways", async () => {
    await ask(api.DELETE("/api/auth/identities/{identity_id}", { params: { path: { identity_id: id } } }));
    loadWays();
    say(f.wayRemoved);
  });
}

/** Choose another username, which is possible once, after a provider opened the account. */
export function rename(username: string): Promise<boolean> {
  return attempt("rename", async () => {
    await ask(api.PUT("/api/auth/me", { body: { username: username.trim().toLowerCase() } }));
    await loadSession();
    say(f.renamed);
  });
}

/** Change the address. It takes the password; where the site sends mail, the address holds once it is confirmed. */
export function changeEmail(email: string, current_password: string): Promise<boolean> {
  return attempt("email", async () => {
    const before = user.peek()?.email;
    const saved = await ask(api.PUT("/api/auth/me", { body: { email, ...(current_password && { current_password }) } }));
    await loadSession();
    const proposed = saved.email === before && email.trim().toLowerCase() !== before;
    say(proposed ? f.emailProposed(email) : f.emailSaved);
  });
}

export function sendVerification(): Promise<boolean> {
  return attempt("mail", async () => {
    await ask(api.POST("/api/auth/email/verification"));
    say(f.mailSent);
  });
}

export function setNotify(notify: boolean): Promise<boolean> {
  return attempt("mail", async () => {
    await ask(api.PUT("/api/auth/me", { body: { notify } }));
    await loadSession();
    say(f.mailSaved);
  });
}

export function changePassword(current_password: string, password: string, revoke_tokens: boolean): Promise<boolean> {
  return attempt("password", async () => {
    await ask(api.PUT("/api/auth/me", { body: { password, ...(current_password && { current_password }), ...(revoke_tokens && { revoke_tokens }) } }));
    if (revoke_tokens) made.value = null;
    loadSessions();
    loadTokens();
    loadWays();
    say(revoke_tokens ? f.passwordSavedTokens : f.passwordSaved);
  });
}

/** Delete the account, if the member is sure. */
export async function leave(current_password: string, sure: boolean): Promise<boolean> {
  if (!sure) {
    errors.value = { ...errors.peek(), leave: { sure: f.removeNotSure } };
    return false;
  }
  const left = await attempt("leave", () => ask(api.DELETE("/api/auth/me", { body: { ...(current_password && { current_password }) } })));
  if (!left) return false;
  dropAll();
  await renew();
  sayThere(f.removed);
  navigate("/");
  return true;
}

export function endSession(id: number): Promise<boolean> {
  return attempt("sessions", async () => {
    await ask(api.DELETE("/api/auth/sessions/{session_id}", { params: { path: { session_id: id } } }));
    loadSessions();
    say(f.sessionEnded);
  });
}

export function endOthers(): Promise<boolean> {
  return attempt("sessions", async () => {
    await ask(api.DELETE("/api/auth/sessions"));
    loadSessions();
    say(f.othersEnded);
  });
}

/** Create a token that expires after some days; 0 for never. */
export function createToken(name: string, days: number): Promise<boolean> {
  return attempt("token", async () => {
    const expires_at = days ? new Date(now() + days * 86_400_000).toISOString() : undefined;
    made.value = await ask(api.POST("/api/auth/tokens", { body: { name, ...(expires_at && { expires_at }) } }));
    loadTokens();
  });
}

export function revokeToken(id: number): Promise<boolean> {
  return attempt("tokens", async () => {
    await ask(api.DELETE("/api/auth/tokens/{token_id}", { params: { path: { token_id: id } } }));
    if (made.peek()?.id === id) made.value = null;
    loadTokens();
    say(f.revoked);
  });
}

/** Whether a form was taken. What is refused of it is shown at its fields, or above it where it has none. */
async function attempt(form: string, act: () => Promise<unknown>, hasFields = true): Promise<boolean> {
  if (busy.peek()) return false;
  busy.value = form;
  errors.value = { ...errors.peek(), [form]: {} };
  try {
    await act();
    return true;
  } catch (error) {
    if (error instanceof DOMException || error instanceof PasskeyFailed) { // the person cancelled, or no passkey came
      errors.value = { ...errors.peek(), [form]: { "": error instanceof PasskeyFailed ? error.message : f.passkeyCancelled } };
      return false;
    }
    if (!(error instanceof Problem)) throw error;
    learn(error);
    const fields = error.fields;
    const whole = Object.values(fields).join(" ");
    errors.value = { ...errors.peek(), [form]: whole && hasFields ? fields : { "": whole || error.detail } };
    return false;
  } finally {
    busy.value = "";
  }
}
