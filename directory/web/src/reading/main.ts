// What JavaScript adds to the pages that people read. Each module improves what is there, and a page works without any.
import "../styles/base.css";
import "../styles/parts.css";
import "../styles/forms.css";
import "../styles/pages.css";
import "../styles/reading.css";
import { dropAll, dropSent } from "./drafts.ts";
import { startKeys } from "./keys.ts";
import { startMore } from "./more.ts";
import { startOnce } from "./once.ts";
import { dataOf, find, reason, say, speaking, UNREACHABLE } from "./page.ts";
import { startSearch } from "./search.ts";
import { startShare } from "./share.ts";
import { startTheme } from "./theme.ts";
import { showTimes } from "./times.ts";
import { startViewer } from "./viewer.ts";
import { startVotes } from "./vote.ts";
import { around, word } from "./words.ts";

/** Who signs out leaves nothing that was written. The console has the same rule. */
function startSignOut(): void {
  find(".menu form")?.addEventListener("submit", dropAll);
}

/** The page that signs in alone loads what passkeys need. */
async function startPasskeys(): Promise<void> {
  const button = find<HTMLButtonElement>("[data-passkey]");
  if (button) (await import("./passkey.ts")).startPasskey(button, { around, dataOf, reason, say, speaking, UNREACHABLE, word });
}

for (const start of [dropSent, showTimes, startTheme, startKeys, startSearch, startMore, startVotes, startViewer, startShare, startSignOut, startPasskeys, startOnce]) {
  try {
    start();
  } catch (error) {
    console.error(error);
  }
}
