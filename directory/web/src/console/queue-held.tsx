// What rules hold out of the queue: its lane in the list, and the way out of it.
import { api, ask } from "../api/client.ts";
import { say } from "../state/notice.ts";
import { filters, PATH } from "../state/queue-address.ts";
import { summary } from "../state/queue-pending.ts";
import { patch } from "../state/queue-record.ts";
import { drop, type Item } from "../state/queue.ts";
import { address, withQuery } from "../state/router.ts";
import { readOnly } from "../state/session.ts";
import { act } from "./dialog-state.ts";
import { r } from "./review-text.ts";

/** By its filters in the address, each part of what waits. */
const LANES = [
  { name: r.lanes.review, held: "", waiting_for: "" },
  { name: r.lanes.held, held: "true", waiting_for: "" },
  { name: r.lanes.owner, held: "", waiting_for: "owner" },
  { name: r.lanes.appeal, held: "", waiting_for: "appeal" },
];

function isLane({ held, waiting_for }: { held: string; waiting_for: string }): boolean {
  const query = address.value.searchParams;
  return (query.get("held") ?? "") === held && (query.get("waiting_for") ?? "") === waiting_for;
}

/** Whether a lane is offered: that of appeals where there may be any. */
function isShown(lane: (typeof LANES)[number]): boolean {
  return lane.waiting_for !== "appeal" || Boolean(summary.data.value?.appeals) || isLane(lane);
}

/** Whether the list is a part of a lane. */
export function isNarrowed(): boolean {
  return filters.filters.some(({ name }) => !["held", "waiting_for"].includes(name) && address.value.searchParams.get(name));
}

/** The names of the rules in the warnings of an item. */
export function rulesOf(warnings: readonly string[]): string[] {
  return warnings.filter((each) => each.startsWith("rule:")).map((each) => each.slice(5));
}

/** Whether the list is what is held, and nothing narrows it. */
export function isHeldLane(): boolean {
  return address.value.search === "?held=true";
}

export function Lanes() {
  return (
    <nav class="tabs q-lanes" aria-label={r.lanesOf}>
      {LANES.filter(isShown).map(({ name, ...lane }) => (
        <a key={name} href={withQuery({ ...lane, cursor: "" }, PATH)} aria-current={isLane(lane) ? "page" : undefined}>{name}</a>
      ))}
    </nav>
  );
}

/** That a rule holds the item that is shown, and the button that puts it into the queue. */
export function HeldOut({ item: { id, title, review } }: { item: Item }) {
  if (!review?.held) return null;
  return (
    <div class="banner pending" role="status">
      <p>{r.heldBy}</p>
      <button type="button" class="button small" disabled={readOnly.value} onClick={() => void act("release", () => release(id, title))}>{r.release}</button>
    </div>
  );
}

async function release(id: number, title: string): Promise<void> {
  const { review } = await ask(api.PUT("/api/review/projects/{project_id}/release", { params: { path: { project_id: id } } }));
  patch(id, { review });
  say(r.released(title));
  if (address.peek().searchParams.has("held")) drop([id]);
}
