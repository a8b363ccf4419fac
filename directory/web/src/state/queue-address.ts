// The addresses of the review queue, and the filters in them.
import { categories } from "./categories.ts";
import { Filtering } from "./filtering.ts";
import { address } from "./router.ts";
import { w } from "../console/text.ts";

export const PATH = "/admin/queue";
export const OWNER = /^[a-z0-9_-]{3,32}$|^me$/i;

export const filters = new Filtering([
  { name: "q" },
  { name: "category", choices: () => (categories.data.value ?? []).map((each) => [each.slug, each.name] as const) },
  { name: "owner", pattern: OWNER },
  { name: "kind", values: ["submission", "revision"] },
  { name: "first_time", values: ["true"], named: { true: "Yes" } },
  { name: "waiting_for", values: ["owner", "appeal"], unset: w.waiting_for.review, named: w.waiting_for },
  { name: "held", values: ["true"], named: { true: w.yes }, fromLinks: true },
  { name: "claimed", values: ["none", "me", "others"] },
], PATH);

/** The address of an item, or with 0 that of the list, with its filters. */
export function addressOf(id: number): string {
  return (id ? `${PATH}/${id}` : PATH) + address.value.search;
}

/** Whether the list is of what waits for this. */
export function isInLane(waitingFor: string): boolean {
  return address.peek().searchParams.get("waiting_for") === waitingFor;
}

/** Whether an address is one of the queue. */
export function isQueue(url: URL): boolean {
  return url.pathname === PATH || url.pathname.startsWith(`${PATH}/`);
}

/** Whether an item is a page of its own, as on a phone. */
export function isNarrow(): boolean {
  return globalThis.matchMedia?.("(max-width: 820px)").matches ?? false;
}
