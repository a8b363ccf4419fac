// The button that signs in by a passkey. Where the browser has none it stays hidden.
import { askPasskey, atLocalhost, hasPasskeys } from "../parts/passkey.ts";

type Say = (text: string) => void;

const LOGIN = "/api/auth/passkeys/login";

/** It shows messages by `say`: importing the page's own module would add a file to each page. */
export function startPasskey(button: HTMLButtonElement, say: Say): void {
  if (!hasPasskeys()) return pointToLocalhost(button);
  button.hidden = false;
  button.addEventListener("click", () => void signIn(button, say));
}

/** At a number of this machine the page names the address where passkeys work. */
function pointToLocalhost(button: HTMLButtonElement): void {
  const address = atLocalhost();
  if (!address) return;
  const line = document.createElement("p");
  const link = document.createElement("a");
  line.className = "small muted center";
  link.href = address;
  link.textContent = new URL(address).host;
  line.append("Passkeys work at ", link, ", not at this address.");
  button.after(line);
}

async function signIn(button: HTMLButtonElement, say: Say): Promise<void> {
  button.disabled = true;
  try {
    await post(LOGIN, { credential: await askPasskey(await post(`${LOGIN}/options`)) });
    location.assign(button.dataset.passkey ?? "/");
  } catch (error) {
    const cancelled = error instanceof DOMException;
    say(cancelled ? "No passkey was used. You can try again, or sign in by your password." : (error as Error).message);
    button.disabled = false;
  }
}

async function post(path: string, body?: unknown): Promise<unknown> {
  const sent = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) };
  const answer = await fetch(path, sent).catch(() => {
    throw new Error("You are offline, or the service does not answer.");
  });
  const found = await answer.json().catch(() => null);
  if (!answer.ok || !found) throw new Error(found?.detail ?? `The service answered with status ${answer.status}.`);
  return found;
}
