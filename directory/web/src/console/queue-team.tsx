// What the others of a team do: who looks at the item that is shown, who has approved it, and where too few may approve.
import { api, ask } from "../api/client.ts";
import { added } from "../extras/extra.ts";
import { ago } from "../parts/time.tsx";
import { isInLane } from "../state/queue-address.ts";
import { isMine } from "../state/queue-approvals.ts";
import { summary } from "../state/queue-pending.ts";
import { patch } from "../state/queue-record.ts";
import { type Item, readItem } from "../state/queue.ts";
import { readOnly } from "../state/session.ts";
import { act } from "./dialog-state.ts";
import { r } from "./review-text.ts";
import { m } from "./team-text.ts";
import { Until } from "./turn.tsx";

async function withdraw(id: number): Promise<void> {
  await ask(api.DELETE("/api/review/projects/{project_id}/approval", { params: { path: { project_id: id } } }));
  patch(id, await readItem(id));
}

/** Who looks at the item that is shown, and who has approved it. */
export function Team({ item: shown }: { item: Item }) {
  const { id, approvals } = shown;
  const { claims } = added;
  const given = approvals?.given ?? [];
  return (
    <>
      {claims && <claims.Looks item={shown} />}
      {(claims?.isPossible(shown) || approvals) && (
        <p class="actions">
          {claims && <claims.Button item={shown} />}
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
  const { approvals, answered, review } = item;
  return (
    <>
      {review?.waiting_for === "owner" && !isInLane("owner") && <span class="badge">{m.waitsForOwner}</span>}
      <Until project={item} />
      {review?.held && !isInLane("held") && <span class="badge pending">{r.heldBadge}</span>}
      {review?.waiting_for === "appeal" && !isInLane("appeal") && <span class="badge pending">{m.appeal}</span>}
      {answered && !isInLane("messages") && <span class="badge pending">{m.answered}</span>}
      {approvals && approvals.given.length > 0 && <span class="badge pending">{isMine({ approvals }) ? m.yours({ approvals }) : m.part(approvals)}</span>}
      {added.claims && <added.claims.Sign item={item} />}
    </>
  );
}

/** The categories in which nothing can be approved, because too few may review them. */
export function TooFew() {
  const found = summary.data.value?.too_few_reviewers ?? [];
  return found.length ? <p class="banner pending">{m.tooFew(found.map((each) => each.name))}</p> : null;
}
