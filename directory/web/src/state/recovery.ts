// Ways back into an account by mail: a forgotten password, a new one, an address to confirm.
import { signal } from "@preact/signals";
import { api, ask, Problem } from "../api/client.ts";
import { loadSession, renew } from "./session.ts";
import { address } from "./router.ts";

export type Done = "" | "mailed" | "reset" | "verified";

export const token = signal(""); // of the link that led here; "" where none did
export const done = signal<Done>("");
export const busy = signal(false);
export const errors = signal<Record<string, string>>({}); // by field; "" for the whole

/** Take the token out of the address, so that neither the history nor a bookmark has it. To open a link uses nothing up. */
export function enterRecovery(): void {
  const given = new URLSearchParams(address.peek().hash.slice(1)).get("token") ?? "";
  if (given) globalThis.history?.replaceState(history.state, "", address.peek().pathname);
  if (given !== token.peek()) done.value = "";
  token.value = given;
  errors.value = {};
}

export function forgot(login: string): Promise<boolean> {
  return attempt("mailed", () => ask(api.POST("/api/auth/password/forgot", { body: { login } })));
}

export function reset(password: string, revoke_tokens: boolean): Promise<boolean> {
  return attempt("reset", async () => {
    const body = { token: token.peek(), password, ...(revoke_tokens && { revoke_tokens }) };
    await ask(api.POST("/api/auth/password/reset", { body }));
    await renew(); // the session of this browser may have ended
  });
}

export function verify(): Promise<boolean> {
  return attempt("verified", async () => {
    await ask(api.POST("/api/auth/email/verify", { body: { token: token.peek() } }));
    await loadSession();
  });
}

/** Whether it was taken. What is refused is shown. */
async function attempt(result: Done, act: () => Promise<unknown>): Promise<boolean> {
  if (busy.peek()) return false;
  busy.value = true;
  errors.value = {};
  try {
    await act();
    done.value = result;
    return true;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { token: link, ...fields } = error.fields;
    errors.value = link ? { "": link } : Object.keys(fields).length ? fields : { "": error.detail };
    return false;
  } finally {
    busy.value = false;
  }
}
