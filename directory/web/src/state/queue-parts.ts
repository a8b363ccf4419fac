// Decisions that wait, and the requests that they are sent in.
import type { Item } from "./queue.ts";

export type Decision = "approve" | Explained;
export type Explained = "reject" | "request_changes";
export interface Batch {
  decision: Decision;
  items: readonly Item[];
  /** What the owner of an item reads. */
  textOf: (item: Item) => string;
  timer: ReturnType<typeof setTimeout> | undefined;
}
export interface Part {
  decision: Decision;
  text: string;
  items: Item[];
}

const MOST = 100; // items of one request

/** What each request is about: items with the same decision and text, as many as it may have. */
export function partsOf(made: readonly Batch[]): Part[] {
  const open = new Map<string, Part>();
  const parts: Part[] = [];
  for (const { decision, items, textOf } of made) {
    for (const each of items) {
      const text = textOf(each);
      const key = `${decision} ${text}`;
      let part = open.get(key);
      if (!part || part.items.length === MOST) {
        open.set(key, (part = { decision, text, items: [] }));
        parts.push(part);
      }
      part.items.push(each);
    }
  }
  return parts;
}
