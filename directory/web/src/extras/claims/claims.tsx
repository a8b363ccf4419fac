// Who looks at an item of the queue, which the others see. It keeps nobody from deciding.
import { api, ask, Problem, type Schemas } from "../../api/client.ts";
import { act, ask as question } from "../../console/dialog-state.ts";
import { summary } from "../../state/queue-pending.ts";
import { patch } from "../../state/queue-record.ts";
import { type Item, item } from "../../state/queue.ts";
import { readOnly, user } from "../../state/session.ts";
import { c } from "./text.ts";

/** The claim of somebody else. */
function theirs({ claim }: Item): Item["claim"] {
  return claim && claim.user.id !== user.value?.id ? claim : null;
}

/** Whether an item can be claimed: it waits for the reviewers, or for the outcome of an appeal. */
export function mayClaim({ review }: Item): boolean {
  return Boolean(summary.data.value?.claims && review && review.waiting_for !== "owner");
}

/** Claim the item that is shown, or end the caller's claim. Another's is taken over once that was asked about. */
export function toggle(): void {
  const shown = item.peek();
  if (!shown || !mayClaim(shown) || readOnly.peek()) return;
  const others = theirs(shown);
  if (others) return askToTakeOver(shown, others);
  void act("claim", () => (shown.claim ? release(shown.id) : claim(shown)));
}

async function release(id: number): Promise<void> {
  await ask(api.DELETE("/api/review/projects/{project_id}/claim", { params: { path: { project_id: id } } }));
  patch(id, { claim: null });
}

async function claim(shown: Item, take_over = false): Promise<void> {
  const params = { path: { project_id: shown.id } };
  try {
    patch(shown.id, { claim: await ask(api.PUT("/api/review/projects/{project_id}/claim", { params, body: { take_over } })) });
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "claimed") throw error;
    const others: Schemas["Claim"] = error.body.claim;
    patch(shown.id, { claim: others });
    askToTakeOver(shown, others);
  }
}

function askToTakeOver(shown: Item, { user: { username } }: Schemas["Claim"]): void {
  question({ title: c.takeOverOf(username), text: c.takeOverWhy, action: c.takeOver, act: () => claim(shown, true) });
}

/** Who else looks at the item that is shown. */
export function Looks({ item: shown }: { item: Item }) {
  const others = theirs(shown);
  return others && <p class="banner pending" role="status">{c.looks(others.user.username)}</p>;
}

export function Button({ item: shown }: { item: Item }) {
  if (!mayClaim(shown)) return null;
  return (
    <button type="button" class="button small" disabled={readOnly.value} onClick={toggle}>
      {theirs(shown) ? c.takeOver : shown.claim ? c.release : c.claim} <kbd>c</kbd>
    </button>
  );
}

/** Who looks at the item of a row. */
export function Sign({ item: shown }: { item: Item }) {
  return shown.claim && <span class="tag" title={c.claimed}>{theirs(shown)?.user.username ?? c.you}<span class="unseen"> {c.claimed}</span></span>;
}
