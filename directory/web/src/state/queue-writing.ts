// What a reviewer writes about the item that is shown: a message, or a note.
import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { api, ask, type Schemas } from "../api/client.ts";
import { act, busy } from "../console/dialog-state.ts";
import { drop, keep, kept, keyOf } from "../reading/drafts.ts";
import { onGone } from "./queue-decisions.ts";
import { history } from "./queue-history.ts";
import { patch } from "./queue-record.ts";
import { current, item } from "./queue.ts";
import { readOnly, user } from "./session.ts";

export type Message = Schemas["Message"];
export const KINDS = ["message", "note"] as const;
export type Kind = (typeof KINDS)[number];

export const draft = signal("");
export const kind = signal<Kind>("message");
export const isWriting = computed(() => busy.value === "message");
export const MOST = 4000; // characters that the API takes
let wantsFocus = false;

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

/** Go to the field that writes to the owner. */
export function startWriting(): void {
  if (!item.peek() || readOnly.peek()) return;
  kind.value = "message";
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

/** Send what is written. */
export async function send(): Promise<void> {
  const [id, text, what] = [current.peek(), draft.peek().trim(), kind.peek()];
  if (!text || !item.peek() || [...text].length > MOST) return;
  await act("message", async () => {
    const body = { text, ...(what === "note" && { internal: true }) };
    await ask(api.POST("/api/review/projects/{project_id}/messages", { params: { path: { project_id: id } }, body }));
    drop(key(id));
    if (current.peek() === id) draft.value = "";
    if (what === "message") patch(id, { answered: false });
    void history.again();
  });
}
