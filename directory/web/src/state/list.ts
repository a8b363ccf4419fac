// The list on the first page: what the address asks for, page after page.
import { signal } from "@preact/signals";
import { api, ask, Problem, type Schemas } from "../api/client.ts";
import { say } from "./notice.ts";
import { remembered, Resource } from "./resource.ts";
import { address, navigate, withQuery } from "./router.ts";
import { note } from "./votes.ts";

export interface Listing {
  items: readonly Schemas["ProjectDetail"][];
  total: number;
  capped: boolean;
  next: string | null;
}
export interface Wanted {
  q: string;
  category: string;
  tag: string;
  sort: string;
}

const PAGE = 20; // what the API gives without a limit
const MOST = 100;
const PAUSE = 150; // milliseconds without a key before a search begins
const SORTS = ["newest", "popular", "upvotes"];

export const list = new Resource<Listing>(true);
export const categories = new Resource<readonly Schemas["Category"][]>(true);
export const typed = signal(""); // the text in the search field
export const busyMore = signal(false);
export const focusSearch = signal(0); // counts how often the field was asked for by key
let timer: ReturnType<typeof setTimeout> | undefined;

/** What an address asks for; what it cannot mean is left out. */
export function wantedBy(query: URLSearchParams): Wanted {
  const sort = query.get("sort") ?? "";
  const q = (query.get("q") ?? "").trim();
  return {
    q,
    category: query.get("category") ?? "",
    tag: query.get("tag") ?? "",
    sort: SORTS.includes(sort) ? sort : q ? "" : "newest",
  };
}

/** Show what the address asks for. */
export function enterList(query: URLSearchParams): void {
  clearTimeout(timer);
  const wanted = wantedBy(query);
  if (wanted.q !== typed.peek().trim()) typed.value = wanted.q;
  const key = `list ${new URLSearchParams({ ...wanted })}`;
  const before = remembered<Listing>(key);
  void list.load(key, (signal) => firstPage(wanted, before, signal));
  loadCategories();
}

export function loadCategories(): void {
  void categories.load("categories", async (signal) => (await ask(api.GET("/api/categories", { signal }))).items);
}

/** Take over what was typed; the search begins after a pause. */
export function type(text: string): void {
  typed.value = text;
  clearTimeout(timer);
  timer = setTimeout(search, PAUSE);
}

/** Search for what was typed. The address of a search in progress takes the place of the one before. */
export function search(): void {
  clearTimeout(timer);
  const q = typed.peek().trim();
  const before = address.peek().searchParams.get("q") ?? "";
  if (q !== before) navigate(withQuery({ q, sort: "" }), { replace: before !== "" && q !== "" });
}

/** Add the next page to the list. */
export async function showMore(): Promise<void> {
  const shown = list.data.peek();
  if (!shown?.next || busyMore.peek()) return;
  const wanted = wantedBy(address.peek().searchParams);
  busyMore.value = true;
  try {
    const page = await read(wanted, { cursor: shown.next });
    if (list.data.peek() === shown) list.set({ ...page, items: joined(shown.items, page.items), total: shown.total });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    say(`${error.title}. ${error.detail}`, { bad: true });
  } finally {
    busyMore.value = false;
  }
}

/** The beginning of the list, as far as it was shown before. */
async function firstPage(wanted: Wanted, before: Listing | undefined, signal: AbortSignal): Promise<Listing> {
  const shown = before?.items.length ?? 0;
  const page = await read(wanted, shown > PAGE ? { limit: Math.min(MOST, shown) } : {}, signal);
  if (!before || shown <= page.items.length) return page;
  return { ...before, items: joined(page.items, before.items), total: page.total };
}

async function read(wanted: Wanted, place: object, signal?: AbortSignal): Promise<Listing> {
  const { sort, ...filters } = wanted;
  const given = Object.entries({ ...filters, sort: sort === "newest" && !wanted.q ? "" : sort });
  const query = { ...Object.fromEntries(given.filter(([, value]) => value)), ...place };
  const began = performance.now();
  const { items, pagination } = await ask(api.GET("/api/projects", { params: { query }, signal }));
  note(items, began);
  return { items, total: pagination.total, capped: pagination.total_capped, next: pagination.next_cursor };
}

/** Both, without one that is in the first already. */
function joined<T extends { id: number }>(first: readonly T[], second: readonly T[]): T[] {
  const known = new Set(first.map((each) => each.id));
  return [...first, ...second.filter((each) => !known.has(each.id))];
}
