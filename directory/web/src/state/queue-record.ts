// What was decided before: whether an item was live, and the record of its owner, which the reviewer changes.
import { type Item, linked, queue } from "./queue.ts";

/** Whether what waits was listed once: it was taken down, or changed by its owner. */
export function wasLive(found: Item | undefined): boolean {
  return found?.status === "pending" && Boolean(found.published_at);
}

/** Whether its owner is suspended or deleted, which a reviewer is asked about before an approval. */
export function isOfSuspended(found: Item | undefined): boolean {
  return found?.warnings.includes("owner_suspended") ?? false;
}

/** Count what was decided in the records of the owners, on every other item that they have here. */
export function recount(decisions: readonly { owner: number; state: "live" | "rejected" }[]): void {
  const counted = (each: Item): Item => {
    const stats = { ...each.owner_stats };
    for (const { owner, state } of decisions) {
      if (owner !== each.owner.id) continue;
      stats.pending = Math.max(0, stats.pending - 1);
      stats[state]++;
    }
    return { ...each, owner_stats: stats };
  };
  const [found, other] = [queue.data.peek(), linked.data.peek()];
  if (!decisions.length) return;
  if (found) queue.set({ ...found, items: found.items.map(counted) });
  if (other) linked.set(counted(other));
}
