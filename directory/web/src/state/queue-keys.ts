// Keys of the console. What is held down, or pressed with Ctrl, Alt or Meta, never decides.
import { signal } from "@preact/signals";
import { added } from "../extras/extra.ts";
import { safeAddress } from "../parts/address.ts";
import { approve, approving, asking, askReason, confirmApproval, undo } from "./queue-decisions.ts";
import { historyOpen, toggleHistory } from "./queue-history.ts";
import { choices, choose, confirmReason } from "./queue-reason.ts";
import { startWriting } from "./queue-writing.ts";
import { clearSelection, current, isOpen, item, move, selected, selectTo, toggle } from "./queue.ts";
import { navigate } from "./router.ts";
import { isAdministrator, mayReview } from "./session.ts";

const SECOND_KEY = 1500; // milliseconds for the key after g
const PLACES: Record<string, string> = { q: "/admin/queue", d: "/admin", u: "/admin/users" };

export const help = signal(false); // whether the keys are explained
let goUntil = -1; // until when a key is the second of "g …", by the events' own clock

/** What each key does at the queue; those of MOVING also while they are held down. */
const ACTS: Record<string, () => void> = {
  j: () => move(1),
  k: () => move(-1),
  x: () => toggle(current.peek()),
  a: () => approve(),
  r: () => askReason("reject"),
  u: undo,
  o: openWebsite,
  h: toggleHistory,
  m: startWriting,
  e: () => askReason("request_changes"),
  escape: clear,
};
const MOVING = ["j", "k"];

export function startConsoleKeys(): void {
  document.addEventListener("keydown", onKey);
}

export function onKey(event: KeyboardEvent): void {
  if (event.isComposing || event.defaultPrevented) return;
  if (asking.peek() && event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat) return sendReason(event);
  if (event.ctrlKey || event.metaKey || event.altKey || event.getModifierState?.("AltGraph")) return;
  if (event.repeat && event.key === "Enter" && (event.target as Element | null)?.closest?.("[data-decides]")) event.preventDefault();
  if (asking.peek()) return onReasonKey(event);
  if (approving.peek()) return onAnswerKey(event);
  if (takesText(event.target)) return;
  const key = letterOf(event);
  const act = actOf(key, event);
  if (!act || (event.repeat && !MOVING.includes(key))) return;
  event.preventDefault();
  act();
}

/** The letter of a key: what it types in Latin script, or else what the standard layout has in its place. */
function letterOf({ key, code }: KeyboardEvent): string {
  const isLatin = /^\p{Script=Latin}$/u.test(key) || /^[A-Z]\w+$/.test(key); // the latter is a name, such as Escape
  return isLatin ? key.toLowerCase() : /^Key([A-Z])$/.exec(code ?? "")?.[1]?.toLowerCase() ?? key;
}

/** The number of a key: the digit that it types, or else the one on it: some layouts type digits with Shift alone. */
function numberOf({ key, code, shiftKey }: KeyboardEvent): number {
  if (/^\d$/.test(key)) return Number(key);
  return shiftKey ? NaN : Number(/^Digit(\d)$/.exec(code ?? "")?.[1]);
}

function actOf(key: string, event: KeyboardEvent): (() => void) | undefined {
  if (/^[?؟]$/.test(event.key)) return () => (help.value = !help.peek());
  const isSecond = event.timeStamp <= goUntil;
  goUntil = -1;
  const canAct = isOpen() && mayReview.peek();
  if (event.shiftKey) return key === "x" && canAct ? () => selectTo(current.peek()) : undefined;
  if (isSecond && PLACES[key] && (key === "q" || isAdministrator.peek())) return () => navigate(PLACES[key] as string);
  if (key === "g") return () => (goUntil = event.timeStamp + SECOND_KEY);
  return canAct ? ACTS[key] ?? added.keys?.[key]?.act : undefined;
}

/** The keys that send what is written in many fields of more than a line. */
function sendReason(event: KeyboardEvent): void {
  event.preventDefault();
  confirmReason();
}

/** Keys while a text is asked for: a digit takes a saved reply, Enter sends. In the text they are text. */
function onReasonKey(event: KeyboardEvent): void {
  const place = numberOf(event) - 1;
  if (event.repeat || (event.target as Element | null)?.closest?.("textarea, button")) return;
  if (choices.peek()[place]) choose(place);
  else if (event.shiftKey) return;
  else if (event.key === "Enter") confirmReason();
  else if (event.key === "Escape") asking.value = null;
  else return;
  event.preventDefault();
}

/** Keys while it is asked whether what was live before is approved: Enter does it, a second `a` does not. */
function onAnswerKey(event: KeyboardEvent): void {
  if (event.repeat || event.shiftKey || (event.target as Element | null)?.closest?.("button")) return;
  if (event.key === "Enter") confirmApproval();
  else if (event.key === "Escape") approving.value = null;
  else return;
  event.preventDefault();
}

/** Whether keys are text where the focus is, or a dialog has it. A checkbox takes none. */
function takesText(target: EventTarget | null): boolean {
  const element = target as Element | null;
  return element?.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable], dialog") != null;
}

function openWebsite(): void {
  const href = safeAddress(item.peek()?.url ?? "");
  if (href) globalThis.open(href, "_blank", "noopener,noreferrer");
}

function clear(): void {
  if (selected.peek().size) clearSelection();
  else historyOpen.value = false;
}
