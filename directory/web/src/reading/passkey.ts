// The button that signs in by a passkey. Where the browser has none it stays hidden.
import { askPasskey, atLocalhost, hasPasskeys, whyFailed } from "../parts/passkey.ts";

type Page = Pick<typeof import("./page.ts"), "dataOf" | "reason" | "say" | "speaking" | "UNREACHABLE">
  & Pick<typeof import("./words.ts"), "around" | "word">;

const LOGIN = "/api/auth/passkeys/login";

/** The page lends its own modules: importing them would add a file to each page. */
export function startPasskey(button: HTMLButtonElement, page: Page): void {
  if (!hasPasskeys()) return pointToLocalhost(button, page);
  button.hidden = false;
  button.addEventListener("click", () => void signIn(button, page));
}

/** At a number of this machine the page names the address where passkeys work. */
function pointToLocalhost(button: HTMLButtonElement, page: Page): void {
  const address = atLocalhost();
  if (!address) return;
  const line = document.createElement("p");
  const link = document.createElement("a");
  line.className = "small muted center";
  link.href = address;
  link.textContent = new URL(address).host;
  line.append(...page.around("Passkeys work at {address}, not at this address.", "address", link));
  button.after(line);
}

async function signIn(button: HTMLButtonElement, page: Page): Promise<void> {
  button.disabled = true;
  try {
    await post(page, LOGIN, { credential: await askPasskey(await post(page, `${LOGIN}/options`)) });
    location.assign(button.dataset.passkey ?? "/");
  } catch (error) {
    const cancelled = "No passkey was used. You can try again, or sign in by your password.";
    page.say(error instanceof DOMException ? page.word(cancelled) : whyFailed(error, page.word) || page.reason(error));
    button.disabled = false;
  }
}

async function post(page: Page, path: string, body?: unknown): Promise<unknown> {
  const headers = { ...page.speaking(), "Content-Type": "application/json" };
  const sent = { method: "POST", headers, body: JSON.stringify(body ?? {}) };
  const answer = await fetch(path, sent).catch(() => {
    throw new Error(page.UNREACHABLE);
  });
  return await page.dataOf(answer);
}
