// What the others of a team do: who claims the item that is shown, who has approved it, and where too few may approve.
import { api, ask, Problem, type Schemas } from "../api/client.ts";
import { ago } from "../parts/time.tsx";
import { isInLane } from "../state/queue-address.ts";
import { isMine } from "../state/queue-approvals.ts";
import { summary } from "../state/queue-pending.ts";
import { patch } from "../state/queue-record.ts";
import { type Item, item, readItem } from "../state/queue.ts";
import { readOnly, user } from "../state/session.ts";
import { act, ask as question } from "./dialog-state.ts";
import { r } from "./review-text.ts";
import { m } from "./team-text.ts";
import { Until } from "./turn.tsx";

/** Whether a claim is somebody else's. */
export function isOthers(claim: Item["claim"]): boolean {
  return claim !== null && claim.user.id !== user.value?.id;
}

/** Whether an item can be claimed: it waits for the reviewers, or for the outcome of an appeal. */
function mayClaim({ review }: Item): boolean {
  return Boolean(summary.data.value?.claims && review && review.waiting_for !== "owner");
}

/** Claim the item that is shown, or end the caller's claim. Another's is taken over once that was asked about. */
export function toggleClaim(): void {
  const shown = item.peek();
  if (!shown || !mayClaim(shown) || readOnly.peek()) return;
  if (isOthers(shown.claim)) return askToTakeOver(shown, shown.claim as Schemas["Claim"]);
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
    const theirs: Schemas["Claim"] = error.body.claim;
    patch(shown.id, { claim: theirs });
    askToTakeOver(shown, theirs);
  }
}

function askToTakeOver(shown: Item, { user: { username } }: Schemas["Claim"]): void {
  question({ title: m.takeOverOf(username), text: m.takeOverWhy, action: m.takeOver, act: () => claim(shown, true) });
}

async function withdraw(id: number): Promise<void> {
  await ask(api.DELETE("/api/review/projects/{project_id}/approval", { params: { path: { project_id: id } } }));
  patch(id, await readItem(id));
}

/** Who looks at the item that is shown, and who has approved it. */
export function Team({ item: shown }: { item: Item }) {
  const { id, claim, approvals } = shown;
  const isClaimable = mayClaim(shown);
  const given = approvals?.given ?? [];
  const others = isOthers(claim);
  return (
    <>
      {claim && others && <p class="banner pending" role="status">{m.looks(claim.user.username)}</p>}
      {(isClaimable || approvals) && (
        <p class="actions">
          {isClaimable && (
            <button type="button" class="button small" disabled={readOnly.value} onClick={toggleClaim}>
              {others ? m.takeOver : claim ? m.release : m.claim} <kbd>c</kbd>
            </button>
          )}
          {approvals && <span class="small">{m.given(given.length, approvals.required, given.map((each) => `${each.user.username}, ${ago(each.at)}`))}</span>}
          {isMine({ approvals }) && (
            <button type="button" class="button small" disabled={readOnly.value} onClick={() => void act("approval", () => withdraw(id))}>{m.withdraw}</button>
          )}
        </p>
      )}
    </>
  );
}

/** The same of a row of the list, but for what all of its lane have. */
export function TeamSigns({ item }: { item: Item }) {
  const { claim, approvals, answered, review } = item;
  return (
    <>
      {review?.waiting_for === "owner" && !isInLane("owner") && <span class="badge">{m.waitsForOwner}</span>}
      <Until project={item} />
      {review?.held && !isInLane("held") && <span class="badge pending">{r.heldBadge}</span>}
      {review?.waiting_for === "appeal" && !isInLane("appeal") && <span class="badge pending">{m.appeal}</span>}
      {answered && !isInLane("messages") && <span class="badge pending">{m.answered}</span>}
      {approvals && approvals.given.length > 0 && <span class="badge pending">{isMine({ approvals }) ? m.yours({ approvals }) : m.part(approvals)}</span>}
      {claim && <span class="tag" title={m.claimed}>{isOthers(claim) ? claim.user.username : m.you}<span class="unseen"> {m.claimed}</span></span>}
    </>
  );
}

/** The categories in which nothing can be approved, because too few may review them. */
export function TooFew() {
  const found = summary.data.value?.too_few_reviewers ?? [];
  return found.length ? <p class="banner pending">{m.tooFew(found.map((each) => each.name))}</p> : null;
}
