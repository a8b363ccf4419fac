// The lanes of the list, and the way out of that of what rules hold.
import { api, ask } from "../api/client.ts";
import { added } from "../extras/extra.ts";
import { say } from "../state/notice.ts";
import { showPresent } from "../parts/tabs.ts";
import { addressOfLane, isInLane, isNarrowed, type Lane, LANES } from "../state/queue-address.ts";
import { summary } from "../state/queue-pending.ts";
import { patch } from "../state/queue-record.ts";
import { story } from "../state/queue-history.ts";
import { drop, type Item, queue, waitingCount } from "../state/queue.ts";
import { readOnly } from "../state/session.ts";
import { act } from "./dialog-state.ts";
import { t } from "../text.ts";
import { r } from "./review-text.ts";

/** How many a lane has, as far as is known; the list that is shown knows it best. */
function numberOf(lane: Lane): number | undefined {
  if (isInLane(lane) && !isNarrowed() && queue.data.value) return waitingCount.value;
  const { queue_length, held, waiting_for_owner, waiting_for_appeal, messages } = summary.data.value ?? {};
  return { review: queue_length, held, owner: waiting_for_owner, appeal: waiting_for_appeal, messages }[lane];
}

/** Whether a lane is offered: that of appeals where there may be any. */
function isShown(lane: Lane): boolean | undefined {
  return lane !== "appeal" || added.appeals?.areOn() || isInLane(lane);
}

/** The names of the rules in the warnings of an item. */
export function rulesOf(warnings: readonly string[]): string[] {
  return warnings.filter((each) => each.startsWith("rule:")).map((each) => each.slice(5));
}

export function Lanes() {
  return (
    <nav class="tabs q-lanes" aria-label={r.lanesOf} ref={(nav) => showPresent(nav)}>
      {(Object.keys(LANES) as Lane[]).filter(isShown).map((lane) => {
        const number = numberOf(lane);
        return <a key={lane} href={addressOfLane(lane)} aria-current={isInLane(lane) ? "page" : undefined}>{r.lanes[lane]}{number ? <span class="count">{t.number(number)}</span> : null}</a>;
      })}
    </nav>
  );
}

/** That a rule holds or has rejected the item that is shown, and the button that puts it into the queue. */
export function HeldOut({ item: { id, title, review } }: { item: Item }) {
  if (!review?.held && !story.value?.isRejectedByRule) return null;
  return (
    <div class="banner pending" role="status">
      <p>{review?.held ? r.heldBy : r.rejectedBy}</p>
      <button type="button" class="button small" disabled={readOnly.value} onClick={() => void act("release", () => release(id, title))}>{r.release}</button>
    </div>
  );
}

async function release(id: number, title: string): Promise<void> {
  const project = await ask(api.PUT("/api/review/projects/{project_id}/release", { params: { path: { project_id: id } } }));
  patch(id, project);
  say(r.released(title));
  if (isInLane("held")) drop([id]);
}
