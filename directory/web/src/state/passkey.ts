// Signing in by a passkey where somebody is signed in already: an administrator, who needs it.
import { signal } from "@preact/signals";
import { api, ask, Problem } from "../api/client.ts";
import { askPasskey, PasskeyFailed } from "../parts/passkey.ts";
import { learn, renew } from "./session.ts";

export const busy = signal(false);
export const wrong = signal(""); // why it did not succeed

export async function signInByPasskey(): Promise<void> {
  if (busy.peek()) return;
  busy.value = true;
  wrong.value = "";
  try {
    const credential = await askPasskey(await ask(api.POST("/api/auth/passkeys/login/options")));
    await ask(api.POST("/api/auth/passkeys/login", { body: { credential } }));
    await renew();
  } catch (error) {
    wrong.value = whyOf(error);
  } finally {
    busy.value = false;
  }
}

function whyOf(error: unknown): string {
  if (error instanceof PasskeyFailed) return error.message;
  if (error instanceof DOMException) return "No passkey was used. You can try again.";
  if (!(error instanceof Problem)) throw error;
  learn(error);
  return Object.values(error.fields).join(" ") || error.detail;
}
