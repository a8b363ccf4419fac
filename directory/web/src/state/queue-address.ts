// The addresses of the review queue, and the filters in them.
import { categories } from "./categories.ts";
import { Filtering, keyOf } from "./filtering.ts";
import { address, withQuery } from "./router.ts";
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
  { name: "answered", values: ["true"], named: { true: w.yes }, fromLinks: true },
], PATH);

/** The address of an item, or with 0 that of the list, with its filters. */
export function addressOf(id: number): string {
  return (id ? `${PATH}/${id}` : PATH) + address.value.search;
}

/** The parts of the list, each by the filter that it is. */
export const LANES = { review: {}, held: { held: "true" }, owner: { waiting_for: "owner" }, appeal: { waiting_for: "appeal" }, messages: { answered: "true" } };
export type Lane = keyof typeof LANES;
const BY_LANE = ["held", "waiting_for", "answered"];

/** The part of the list that an address asks for. */
export function laneOf({ searchParams }: URL): Lane | undefined {
  const asked = keyOf(Object.fromEntries([...searchParams].filter(([name]) => BY_LANE.includes(name))));
  return (Object.keys(LANES) as Lane[]).find((each) => keyOf(LANES[each]) === asked);
}

/** Whether the list is this part. */
export function isInLane(lane: Lane): boolean {
  return laneOf(address.value) === lane;
}

/** The address of a part of the list, with the other filters. */
export function addressOfLane(lane: Lane): string {
  return withQuery({ ...Object.fromEntries([...BY_LANE, "cursor"].map((name) => [name, ""])), ...LANES[lane] }, PATH);
}

/** Whether other filters narrow the list. */
export function isNarrowed(): boolean {
  return filters.filters.some(({ name }) => !BY_LANE.includes(name) && address.value.searchParams.get(name));
}

/** Whether an address is one of the queue. */
export function isQueue(url: URL): boolean {
  return url.pathname === PATH || url.pathname.startsWith(`${PATH}/`);
}

/** Whether an item is a page of its own, as on a phone. */
export function isNarrow(): boolean {
  return globalThis.matchMedia?.("(max-width: 820px)").matches ?? false;
}
