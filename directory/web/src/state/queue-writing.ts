// What a reviewer writes about the item that is shown: a message, a note, or what its owner has to change.
import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { api, ask, type Schemas } from "../api/client.ts";
import { act, busy } from "../console/dialog-state.ts";
import { drop, keep, kept, keyOf } from "../reading/drafts.ts";
import { decide, onGone } from "./queue-decisions.ts";
import { history } from "./queue-history.ts";
import { waits } from "./queue-story.ts";
import { current, item } from "./queue.ts";
import { readOnly, user } from "./session.ts";

export type Message = Schemas["Message"];
export const KINDS = ["message", "note", "changes"] as const;
export type Kind = (typeof KINDS)[number];

export const draft = signal("");
export const kind = signal<Kind>("message");
export const isWriting = computed(() => busy.value === "message");
let wantsFocus = false;

/** How many characters the API takes. */
export function most(): number {
  return kind.value === "changes" ? 2000 : 4000;
}

function key(id: number): string {
  return keyOf(String(user.peek()?.id), `review-${id}`);
}

// What is not sent survives a reload, and belongs to its item.
effect(() => {
  const id = current.value;
  if (!user.value) return;
  untracked(() => batch(() => {
    const found = kept(key(id));
    draft.value = found?.text ?? "";
    kind.value = KINDS.find((each) => each === found?.kind) ?? "message";
  }));
});

export function write(text: string): void {
  draft.value = text;
  if (text) keep(key(current.peek()), { text, kind: kind.peek() });
  else drop(key(current.peek()));
}

onGone.push((ids) => ids.forEach((id) => drop(key(id)))); // what was written about them is sent

/** Go to the field that writes, for a message or for what has to be changed. */
export function startWriting(wanted: Kind): void {
  if (!item.peek() || readOnly.peek()) return;
  kind.value = wanted;
  const field = document.getElementById("q-write");
  if (field) field.focus();
  else wantsFocus = true;
}

/** Give the field the focus that it was asked for before it was drawn. */
export function inform(field: HTMLElement | null): void {
  if (!field || !wantsFocus) return;
  wantsFocus = false;
  queueMicrotask(() => field.focus());
}

/** Send what is written. What has to be changed is a decision, which waits for an undo as others do. */
export async function send(): Promise<void> {
  const [id, text, what, shown] = [current.peek(), draft.peek().trim(), kind.peek(), item.peek()];
  if (!text || !shown || [...text].length > most()) return;
  if (what === "changes") return void (waits(shown) && decide("request_changes", [id], () => text));
  await act("message", async () => {
    const body = { text, ...(what === "note" && { internal: true }) };
    await ask(api.POST("/api/review/projects/{project_id}/messages", { params: { path: { project_id: id } }, body }));
    drop(key(id));
    if (current.peek() === id) draft.value = "";
    void history.again();
  });
}
