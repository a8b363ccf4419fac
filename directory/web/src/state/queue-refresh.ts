// An empty queue is read again from time to time, so that the next submission appears in it.
import { effect } from "@preact/signals";
import { isOpen, loadQueue, queue, rows } from "./queue.ts";
import { user } from "./session.ts";

const PAUSE = 30_000; // milliseconds between two reads

/** Read the queue again while it is shown, by a page that can be seen, and nothing is in it. */
export function refreshEmptyQueue(): void {
  effect(() => {
    if (!queue.data.value || rows.value.length) return undefined;
    const timer = setInterval(() => {
      if (isOpen() && user.peek()?.is_admin && !document.hidden && !queue.busy.peek()) void loadQueue();
    }, PAUSE);
    return () => clearInterval(timer);
  });
}
