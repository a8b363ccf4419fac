// The queue is read again from time to time, so that submissions and the decisions of other reviewers appear in it.
import { aborted, Problem } from "../api/client.ts";
import { added } from "../extras/extra.ts";
import { history } from "./queue-history.ts";
import { sending } from "./queue-decisions.ts";
import { arrived, busyMore, current, decided, isOpen, type Item, queue, read, selected } from "./queue.ts";
import { since } from "./queue-story.ts";
import { mayReview } from "./session.ts";

const MOST = 100; // rows of one answer
const PAUSE = 8000; // milliseconds between two reads

/** Read the queue again while it is shown, by a page that can be seen. */
export function refreshQueue(): void {
  setInterval(() => {
    const isBusy = queue.busy.peek() || busyMore.peek() || sending.peek() > 0;
    if (isOpen() && mayReview.peek() && !document.hidden && queue.data.peek() && !isBusy) void readAgain();
  }, PAUSE);
}

/** Read the queue, and what happened to the item that is shown. What fails is tried again at the next turn. */
export async function readAgain(): Promise<void> {
  try {
    await catchUp();
    if (current.peek() && history.data.peek()?.id === current.peek()) await history.again();
  } catch (error) {
    if (!(error instanceof Problem) && !aborted(error)) throw error;
  }
}

/** Read the queue again behind what is shown: what others decided leaves it, what is new comes in.
 *
 * What is shown or selected stays as it is, so that a key never meets another item than the one that was looked at.
 */
async function catchUp(): Promise<void> {
  const before = queue.data.peek();
  const page = await read(null, undefined, MOST);
  const now = queue.data.peek();
  if (!now || now !== before) return; // a decision, another page or another caller came between
  const fresh = new Map(page.items.map((each) => [each.id, each]));
  const last = page.next ? page.items.at(-1) : undefined; // what comes after it was not read
  const isKept = (each: Item) => each.id === current.peek() || selected.peek().has(each.id) || decided.peek().has(each.id);
  const isBeyond = (each: Item) => last !== undefined && since(each) > since(last);
  const kept = now.items.flatMap((each) => {
    const found = fresh.get(each.id);
    fresh.delete(each.id);
    if (isKept(each)) return [found ? { ...each, owner_stats: found.owner_stats, answered: found.answered, ...added.claims?.of(found), ...(found.version === each.version && { approvals: found.approvals }) } : each];
    return found ? [found] : isBeyond(each) ? [each] : [];
  });
  const arrivals = now.next ? [] : [...fresh.values()];
  queue.set({ items: [...kept, ...arrivals], total: page.total, next: now.next ?? (arrivals.length ? page.next : null) });
  if (isOpen() && !current.peek()) arrived();
}
