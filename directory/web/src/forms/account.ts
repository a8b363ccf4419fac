// What the page of an account needs a script for: a new passkey, and a token copied by a button.
import { atLocalhost, createPasskey, hasPasskeys, whyFailed } from "../parts/passkey.ts";
import { dataOf, find, reason, say, speaking, UNREACHABLE } from "../reading/page.ts";
import { around, word } from "../reading/words.ts";
import { dropAll } from "../reading/drafts.ts";

const PASSKEYS = "/api/auth/passkeys";
const SIGN_IN_AGAIN = "/sign-in?again=1&next=/account%23passkeys";

export function startPasskeys(): void {
  const form = find<HTMLFormElement>("[data-add-passkey]");
  if (!form) return;
  const line = find("[data-no-passkeys]");
  if (hasPasskeys()) {
    form.hidden = false;
    line?.remove();
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void add(form);
    });
  } else if (line) line.replaceChildren(...whyNone());
}

/** Why this browser cannot add a passkey, and at a number of this machine the address where it can. */
function whyNone(): (Node | string)[] {
  const address = atLocalhost();
  if (!address) return [word("This browser cannot add a passkey at this address.")];
  const link = document.createElement("a");
  link.href = address;
  link.textContent = new URL(address).host;
  return around("An address of numbers has no passkeys. Open this page, and sign in, at {address}.", "address", link);
}

async function add(form: HTMLFormElement): Promise<void> {
  const button = find<HTMLButtonElement>("button", form);
  const name = String(new FormData(form).get("passkey_name") ?? "").trim();
  if (button?.disabled) return;
  if (button) button.disabled = true;
  try {
    const credential = await createPasskey(await post(`${PASSKEYS}/options`));
    await post(PASSKEYS, { credential, ...(name && { name }) });
    location.assign("/account?done=passkey-added#passkeys");
  } catch (error) {
    if (error instanceof Error && error.cause === "sign_in_again") return location.assign(SIGN_IN_AGAIN);
    say(error instanceof DOMException ? word("No passkey was used. You can try again.") : whyFailed(error, word) || reason(error));
    if (button) button.disabled = false;
  }
}

async function post(path: string, body: unknown = {}): Promise<unknown> {
  const headers = { ...speaking(), "Content-Type": "application/json", "X-Expected-User": find(".menu")?.dataset.user ?? "" };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => {
    throw new Error(UNREACHABLE);
  });
  return await dataOf(answer);
}

/** The button that copies a new token. */
export function startCopy(): void {
  const button = find<HTMLButtonElement>("[data-copy]");
  const shown = button && find(button.dataset.copy ?? "");
  if (!shown || !navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const copied = await navigator.clipboard.writeText(shown.textContent ?? "").then(() => true, () => false);
    if (copied) say(word("Copied."), "");
    else say(word("Your browser did not copy it. Mark it, and copy it yourself."));
  });
}

/** Whose account is deleted leaves nothing that was written. */
export function startLeft(): void {
  if (find("[data-left]")) dropAll();
}
