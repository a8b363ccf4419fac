// Votes without a reload: shown at once, set and cleared by what is wanted, and taken back where one is refused.
import { dataOf, find, reason, say, speaking, UNREACHABLE } from "./page.ts";
import { counted, numeral, sentences, word } from "./words.ts";

interface Vote {
  on: boolean;
  count: number;
}
interface Entry {
  known: Vote; // what the service said last
  wanted: boolean;
  busy: boolean;
}

const entries = new WeakMap<HTMLButtonElement, Entry>();

export function startVotes(): void {
  numeral(0); // without numbers in the language the forms are left to work
  document.addEventListener("click", (event) => {
    const button = (event.target as Element).closest<HTMLButtonElement>("[data-vote]");
    if (!button || !find(".menu")) return; // the form of who is not signed in leads to the page that signs in
    event.preventDefault();
    void want(button);
  });
}

async function want(button: HTMLButtonElement): Promise<void> {
  const entry = entries.get(button) ?? { known: read(button), wanted: false, busy: false };
  entries.set(button, entry);
  entry.wanted = button.ariaPressed !== "true";
  button.dataset.moved = entry.wanted ? "up" : "down";
  show(button, { on: entry.wanted, count: entry.known.count + Number(entry.wanted) - Number(entry.known.on) });
  if (entry.busy) return; // the call that is under way goes on with it
  entry.busy = true;
  try {
    while (entry.known.on !== entry.wanted) entry.known = await send(button, entry.wanted);
  } catch (error) {
    say(sentences(word(entry.wanted ? "Your vote was not counted." : "Your vote was not withdrawn."), reason(error)));
  } finally {
    entry.busy = false;
    show(button, entry.known);
  }
}

async function send(button: HTMLButtonElement, on: boolean): Promise<Vote> {
  const path = `/api/projects/${button.dataset.vote}/upvote`;
  // Another tab may have signed in as somebody else: the service refuses a vote that is not of the account shown here.
  const headers = { ...speaking(), "X-Expected-User": find(".menu")?.dataset.user ?? "" };
  const answer = await fetch(path, { method: on ? "PUT" : "DELETE", headers }).catch(() => {
    throw new Error(UNREACHABLE);
  });
  if (answer.status === 401) { // the session has ended: the form leads to the page that signs in, and the vote is kept
    button.value = on ? "cast" : "withdraw";
    button.form?.requestSubmit(button);
  }
  const { upvoted, upvotes } = await dataOf(answer);
  return { on: upvoted, count: upvotes };
}

function read(button: HTMLButtonElement): Vote {
  return { on: button.ariaPressed === "true", count: Number(button.textContent.replace(/\D/g, "")) };
}

/** What a button of a vote says to a screen reader. */
export function labelOf(title: string, count: number): string {
  return counted("Upvote {title}, {number} vote", "Upvote {title}, {number} votes", count, { title });
}

function show(button: HTMLButtonElement, { on, count }: Vote): void {
  const text = numeral(count);
  button.ariaPressed = String(on);
  button.value = on ? "withdraw" : "cast";
  const number = find(".count", button) as HTMLElement;
  number.textContent = text;
  number.classList.toggle("unseen", !count);
  (find(".word", button) as HTMLElement).textContent = `${word(on ? "Voted" : "Upvote")} `;
  // The wide button of a project's page needs no label: it shows its words.
  const title = find(":is(h2, h3) a", button.closest("article") ?? undefined)?.textContent;
  if (button.ariaLabel && title) button.ariaLabel = labelOf(title, count);
  const onShelf = find(`[data-votes="${button.dataset.vote}"]`);
  if (!onShelf) return;
  onShelf.textContent = text;
  onShelf.closest(".votes")?.classList.toggle("unseen", !count);
}
