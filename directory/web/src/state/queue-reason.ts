// The reason of a rejection, while it is chosen or written.
import { batch, effect, signal } from "@preact/signals";
import { r } from "../console/review-text.ts";
import { decide, rejecting } from "./queue-decisions.ts";

export const MOST = 1000; // characters that the API takes
export const reason = signal("");
export const unexplained = signal(false); // whether it was asked if there is to be no reason
export const place = signal(-1); // which of the canned reasons it is; -1 for none

effect(() => {
  if (rejecting.value) return;
  batch(() => {
    reason.value = "";
    unexplained.value = false;
    place.value = -1;
  });
});

/** Take one of the canned reasons. */
export function choose(wanted: number): void {
  batch(() => {
    place.value = wanted;
    reason.value = r.reasons[wanted] ?? "";
  });
}

export function write(text: string): void {
  batch(() => {
    reason.value = text;
    place.value = r.reasons.findIndex((each) => each === text);
  });
}

/** Reject what the dialog is about. Without a reason it is asked for once more. */
export function confirmReason(): void {
  const ids = rejecting.peek();
  if (!ids) return;
  const given = reason.peek().trim();
  if (!given && !unexplained.peek()) {
    unexplained.value = true;
    return;
  }
  batch(() => {
    rejecting.value = null;
    decide("reject", ids, given);
  });
}
