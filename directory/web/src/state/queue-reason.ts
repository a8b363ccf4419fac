// The text of a rejection or of a request for changes, while it is chosen or written.
import { batch, computed, effect, signal } from "@preact/signals";
import { added, type SavedText } from "../extras/extra.ts";
import { drop, keep, kept, keyOf } from "../reading/drafts.ts";
import { asking, decide, onGone } from "./queue-decisions.ts";
import { itemOf, type Item } from "./queue.ts";
import { user } from "./session.ts";

const MOST = { reject: 1000, request_changes: 2000 }; // characters that the API takes
export const reason = signal("");
export const unexplained = signal(false); // whether it was asked if there is to be no text
export const place = signal(-1); // which of the saved replies it is; -1 for none

/** The saved replies that can be chosen. */
export const choices = computed(() => ((asking.value && added.saved?.of(asking.value.decision)) || []));
/** How many characters are left, for the item whose text is the longest. */
export const left = computed(() => {
  const asked = asking.value;
  if (!asked) return 0;
  const lengths = asked.ids.map((id) => [...textOf(reason.value.trim(), itemOf(id))].length);
  return MOST[asked.decision] - Math.max(0, ...lengths);
});

effect(() => {
  asking.value;
  batch(() => {
    unexplained.value = false;
    show(kept(draftKey())?.text ?? "");
  });
});
onGone.push((ids) => ids.forEach((id) => drop(key(id))));

function key(id: number): string {
  return keyOf(String(user.peek()?.id), `ask-${id}`);
}

/** Where the text is kept until it is sent, if it is what one owner is to change; "" if it is not kept. */
function draftKey(): string {
  const asked = asking.peek();
  return asked?.decision === "request_changes" && !isForMany() ? key(asked.ids[0] as number) : "";
}

/** Whether the text goes to several owners: then the words in braces stay in it until it is sent. */
function isForMany(): boolean {
  return (asking.peek()?.ids.length ?? 0) > 1;
}

/** The text for one of several items. */
function textOf(text: string, item: Item | undefined): string {
  return item && added.saved && isForMany() ? added.saved.filled(text, item) : text;
}

function offered({ text }: SavedText): string {
  const only = itemOf(asking.peek()?.ids[0] ?? 0);
  return only && added.saved && !isForMany() ? added.saved.filled(text, only) : text;
}

/** Take one of the saved replies. */
export function choose(wanted: number): void {
  const reply = choices.peek()[wanted];
  if (!reply) return;
  batch(() => {
    place.value = wanted;
    reason.value = offered(reply);
  });
}

export function write(text: string): void {
  const draft = draftKey();
  if (draft && text) keep(draft, { text });
  else if (draft) drop(draft);
  show(text);
}

function show(text: string): void {
  batch(() => {
    reason.value = text;
    place.value = choices.peek().findIndex((each) => offered(each) === text);
  });
}

/** Decide what the dialog is about. A rejection without a reason is asked about once more; a request has a text. */
export function confirmReason(): void {
  const asked = asking.peek();
  if (!asked || left.peek() < 0) return;
  const given = reason.peek().trim();
  if (!given && (asked.decision !== "reject" || !unexplained.peek())) {
    unexplained.value = true;
    return;
  }
  const texts = new Map(asked.ids.map((id) => [id, textOf(given, itemOf(id))]));
  batch(() => {
    asking.value = null;
    decide(asked.decision, asked.ids, ({ id }) => texts.get(id) ?? given);
  });
}
