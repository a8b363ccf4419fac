// One line that says what happened, read out by a screen reader, for a few seconds.
import { signal } from "@preact/signals";

export interface Notice {
  text: string;
  bad: boolean;
}

const SECONDS = 8;
export const notice = signal<Notice | null>(null);
let timer: ReturnType<typeof setTimeout> | undefined;

/** Say it; `bad` is what did not work. */
export function say(text: string, { bad = false } = {}): void {
  clearTimeout(timer);
  notice.value = { text, bad };
  timer = setTimeout(dismiss, SECONDS * 1000);
}

/** Take the line away. */
export function dismiss(): void {
  clearTimeout(timer);
  notice.value = null;
}
