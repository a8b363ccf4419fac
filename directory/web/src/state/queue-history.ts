// The history of the item that is shown. It is read when a row is rested on, so that moving fast asks for nothing.
import { computed, effect, signal, untracked } from "@preact/signals";
import { api, ask, Problem, type Schemas } from "../api/client.ts";
import { replace } from "./queue-record.ts";
import { current, item, keepAddress, readItem } from "./queue.ts";
import { type Entry, storyOf } from "./queue-story.ts";
import { Resource } from "./resource.ts";
import { onNewCaller } from "./session.ts";

const PAUSE = 150; // milliseconds on a row before its history is read
const PAGES = 3; // of a hundred entries each

interface ProjectHistory {
  id: number;
  entries: readonly Entry[];
  /** Null where they are not for the caller. */
  messages: readonly Schemas["Message"][] | null;
}
export const history = new Resource<ProjectHistory>();
export const historyOpen = signal(false);
let timer: ReturnType<typeof setTimeout> | undefined;

/** The entries of the log about the item that is shown; null until it is read. */
export const story = computed(() => {
  const [shown, loaded] = [item.value, history.data.value];
  return shown && loaded?.id === shown.id ? storyOf(loaded.entries, shown) : null;
});

onNewCaller(() => history.clear());
// The version is part of what is shown: with another one the history has another entry.
const shownVersion = computed(() => `${item.value?.id ?? 0} ${item.value?.version ?? 0}`);
effect(() => {
  const [id] = shownVersion.value.split(" ").map(Number);
  untracked(() => rest(id ?? 0));
});

function rest(id: number): void {
  clearTimeout(timer);
  if (history.data.peek()?.id !== id) history.clear();
  timer = setTimeout(() => {
    if (id) void history.load(`history ${id}`, (signal) => read(id, signal));
    if (id || !current.peek()) keepAddress();
  }, PAUSE);
}

async function read(id: number, signal: AbortSignal): Promise<ProjectHistory> {
  const entries: Entry[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES && (page === 0 || cursor); page++) {
    const params = { path: { project_id: id }, query: { limit: 100, ...(cursor && { cursor }) } };
    const found = await askPage(params, signal);
    entries.push(...found.items);
    cursor = found.pagination.next_cursor;
  }
  return { id, entries, messages: await readMessages(id, signal) };
}

async function readMessages(id: number, signal: AbortSignal): Promise<readonly Schemas["Message"][] | null> {
  try {
    return (await ask(api.GET("/api/review/projects/{project_id}/messages", { params: { path: { project_id: id } }, signal }))).items;
  } catch (error) {
    if (error instanceof Problem && error.status === 403) return null; // one's own project
    throw error;
  }
}

function askPage(params: { path: { project_id: number }; query: { limit: number; cursor?: string } }, signal: AbortSignal) {
  return ask(api.GET("/api/review/projects/{project_id}/history", { params, signal }));
}

/** Show the item as it is now. Throws a Problem. */
export async function showNew(): Promise<void> {
  const id = current.peek();
  replace(await readItem(id));
}

export function toggleHistory(): void {
  historyOpen.value = !historyOpen.peek();
}
