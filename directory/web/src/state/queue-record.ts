// What changes of items that are here, and what was decided before: whether one was live, and the record of its owner.
import { batch } from "@preact/signals";
import type { Schemas } from "../api/client.ts";
import { changed, type Item, itemOf, linked, queue } from "./queue.ts";

/** Whether what waits was listed once: it was taken down, or changed by its owner. */
export function wasLive(found: Item | undefined): boolean {
  return found?.status === "pending" && Boolean(found.published_at);
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

/** Change what is known of an item. */
export function patch(id: number, changes: Partial<Item>): void {
  const patched = (each: Item): Item => (each.id === id ? { ...each, ...changes } : each);
  const [found, other] = [queue.data.peek(), linked.data.peek()];
  batch(() => {
    if (found) queue.set({ ...found, items: found.items.map(patched) });
    if (other) linked.set(patched(other));
  });
}

/** Take the project as it is now in the place of the version that was shown, which is remembered. */
export function replace(project: Schemas["ReviewedProject"]): void {
  const seen = itemOf(project.id);
  batch(() => {
    if (seen && seen.version !== project.version) changed.value = new Map(changed.peek()).set(seen.id, changed.peek().get(seen.id) ?? seen);
    patch(project.id, project);
  });
}
