// The review queue: what waits, which item is shown, and which are selected.
import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { api, ask, type Schemas } from "../api/client.ts";
import { added } from "../extras/extra.ts";
import { wantedBy } from "./filtering.ts";
import { addressOf, filters, isNarrow, isQueue, PATH } from "./queue-address.ts";
import { isMine } from "./queue-approvals.ts";
import { Resource } from "./resource.ts";
import { address, navigate } from "./router.ts";
import { afterSession, mayReview, onNewCaller, withSession } from "./session.ts";

export type Item = Schemas["QueueItem"];
interface Queue {
  items: readonly Item[];
  total: number;
  next: string | null;
}

const PAGE = 50;
const NEAR = 10; // rows before the end at which more are read
const none: ReadonlySet<number> = new Set();

export const queue = new Resource<Queue>(true);
export const linked = new Resource<Item>(); // the item of the address, where it is not in the list
export const current = signal(0); // the id of the item that is shown; 0 for none
export const selected = signal(none);
export const decided = signal(none); // items whose decision waits or is under way: they have left the list
export const changed = signal<ReadonlyMap<number, Item>>(new Map()); // items that changed after the look, as they were seen
export const busyMore = signal(false);
let anchor = 0; // where a range begins
let inside = false;
let listed = ""; // the filters of the list that was read last
let focused = 0; // the row that gets the focus when it is drawn next
let awaited = false; // whether the list ran out under the focus, before more of it was read

/** The rows of the list: what the caller has approved, and others have to approve too, is below. */
export const rows = computed(() => {
  const listed = queue.data.value?.items.filter((each) => !decided.value.has(each.id)) ?? [];
  return [...listed.filter((each) => !isMine(each)), ...listed.filter(isMine)];
});
/** How many wait, as far as is known. */
export const waitingCount = computed(() => {
  const found = queue.data.value;
  return found ? Math.max(0, found.total - decided.value.size) : 0;
});
/** The item that is shown. */
export const item = computed(() => {
  const found = itemOf(current.value, rows.value, linked.data.value);
  return found && !decided.value.has(found.id) ? found : null;
});

onNewCaller(forgetQueue);
effect(() => {
  if (!isQueue(address.value)) untracked(() => (inside = false));
});

/** Whether the queue is what is shown. */
export function isOpen(): boolean {
  return inside;
}

function forgetQueue(): void {
  batch(() => {
    queue.clear();
    linked.clear();
    current.value = anchor = 0;
    selected.value = decided.value = none;
    changed.value = new Map();
  });
}

/** Show the queue, or the item of an address. */
export function enterQueue(id: number): void {
  const isNew = !inside;
  inside = true;
  if (id || isNarrow()) show(id);
  filters.take(address.peek().searchParams);
  afterSession(() => {
    if (!mayReview.peek()) return;
    if (isNew || !queue.data.peek() || listed !== filters.key) void loadQueue();
    else arrived();
  });
}

/** Read the queue from its beginning. */
export async function loadQueue(): Promise<void> {
  if (listed !== filters.key) {
    listed = filters.key;
    clearSelection();
    if (address.peek().pathname === PATH) show(0); // what was shown may not be in the list
  }
  await queue.load(`queue ${listed}`, async (signal) => {
    const [page] = await Promise.all([read(null, signal), added.saved?.load()]); // no key comes before them
    return { ...page, items: page.items.map(asShown) };
  });
  if (queue.data.peek() && inside) arrived();
}

/** An item as it was shown to the reviewer: nothing changes under the eyes, so that no unseen version is decided. */
function asShown(found: Item): Item {
  return item.peek()?.id === found.id ? (item.peek() as Item) : found;
}

/** A page of what waits. Throws a Problem. */
export async function read(cursor: string | null, signal?: AbortSignal, limit = PAGE): Promise<Queue> {
  const wanted = wantedBy(address.peek().searchParams, filters.filters);
  if (!wanted) return { items: [], total: 0, next: null };
  const whole = wanted.waiting_for || wanted.held || wanted.answered ? { sort: "oldest" as const } : { waiting: "true" as const };
  const query = { ...whole, limit, ...wanted, ...(cursor && { cursor }) };
  const { items, pagination } = await withSession(ask(api.GET("/api/review/projects", { params: { query }, signal })));
  return { items, total: pagination.total, next: pagination.next_cursor };
}

/** Add the next page to the list. Throws a Problem. */
export async function showMore(): Promise<void> {
  const shown = queue.data.peek();
  if (!shown?.next || busyMore.peek()) return;
  busyMore.value = true;
  try {
    const page = await read(shown.next);
    const before = queue.data.peek() ?? shown;
    const known = new Set(before.items.map((each) => each.id));
    queue.set({ ...before, items: [...before.items, ...page.items.filter((each) => !known.has(each.id))], next: page.next });
  } finally {
    busyMore.value = false;
  }
  if (queue.data.peek() && inside) arrived();
}

/** Once the list is there: show the first item, or the one of the address, which may be on no page that was read. */
export function arrived(): void {
  const id = current.peek();
  if (id && !rows.peek().some((each) => each.id === id) && linked.data.peek()?.id !== id) {
    void linked.load(`queue ${id}`, (signal) => readItem(id, signal));
  }
  const first = rows.peek()[0]?.id ?? 0;
  if (!id && !isNarrow()) (awaited ? go : show)(first);
}

/** One project as the queue would list it. Throws a Problem. */
export function readItem(id: number, signal?: AbortSignal): Promise<Item> {
  return ask(api.GET("/api/review/projects/{project_id}", { params: { path: { project_id: id } }, signal }));
}

/** The item of an id. */
export function itemOf(id: number, listed: readonly Item[] = queue.data.peek()?.items ?? [], other = linked.data.peek()): Item | undefined {
  return listed.find((each) => each.id === id) ?? (other?.id === id ? other : undefined);
}

/** Drop items that wait no longer. */
export function drop(ids: readonly number[]): void {
  const found = queue.data.peek();
  const left = found?.items.filter((each) => !ids.includes(each.id)) ?? [];
  batch(() => {
    if (found) queue.set({ ...found, items: left, total: Math.max(left.length, found.total - ids.length) });
    if (ids.includes(linked.data.peek()?.id ?? 0)) linked.clear();
    decided.value = without(decided.peek(), ids);
    selected.value = without(selected.peek(), ids);
  });
}

/** Show an item, without a page load where the list stays next to it. */
export function show(id: number): void {
  if (id !== current.peek()) linked.clear();
  current.value = id;
}

/** Go to an item; the focus goes to its row, or on a phone to its page. */
export function go(id: number): void {
  if (!isNarrow()) {
    focused = id;
    awaited = !id && Boolean(queue.data.peek()?.next);
    show(id);
    if (id) arrived();
  } else if (address.peek().pathname !== PATH) {
    navigate(addressOf(id), { replace: true });
  }
}

/** Whether the row of an item has yet to get the focus; asked once. */
export function takesFocus(id: number): boolean {
  const takes = focused === id;
  if (takes) focused = 0;
  return takes;
}

/** Keep the address of the item that is shown next to the list. */
export function keepAddress(): void {
  if (!inside || isNarrow()) return;
  const url = new URL(addressOf(current.peek()), address.peek());
  if (url.pathname === address.peek().pathname) return;
  history.replaceState(history.state, "", url);
  address.value = url;
}

/** Go some rows down, or up. */
export function move(by: number): void {
  const list = rows.peek();
  const place = list.findIndex((each) => each.id === current.peek());
  const next = list[place < 0 ? 0 : Math.min(list.length - 1, Math.max(0, place + by))];
  if (next) go(next.id);
  readAhead();
}

/** Read more rows where few are left. What fails is tried again by the button. */
export function readAhead(): void {
  const list = rows.peek();
  const place = list.findIndex((each) => each.id === current.peek());
  if (list.length - place <= NEAR && queue.data.peek()?.next) showMore().catch(() => undefined);
}

/** Select an item, or take it out of the selection. */
export function toggle(id: number): void {
  if (!rows.peek().some((each) => each.id === id)) return;
  anchor = id;
  selected.value = selected.peek().has(id) ? without(selected.peek(), [id]) : new Set([...selected.peek(), id]);
}

/** Select all rows from the one that was selected last to this one. */
export function selectTo(id: number): void {
  const ids = rows.peek().map((each) => each.id);
  const [from, to] = [ids.indexOf(anchor), ids.indexOf(id)];
  if (from < 0 || to < 0) return toggle(id);
  selected.value = new Set([...selected.peek(), ...ids.slice(Math.min(from, to), Math.max(from, to) + 1)]);
}

export function selectAll(): void {
  selected.value = new Set(rows.peek().map((each) => each.id));
}

export function clearSelection(): void {
  selected.value = none;
  anchor = 0;
}

/** What a decision is about: what is selected, in the order of the list, or else the item that is shown. */
export function chosen(): number[] {
  const ids = rows.peek().map((each) => each.id).filter((id) => selected.peek().has(id));
  return ids.length ? ids : item.peek() ? [current.peek()] : [];
}

export function without(ids: ReadonlySet<number>, gone: readonly number[]): ReadonlySet<number> {
  return new Set([...ids].filter((id) => !gone.includes(id)));
}
