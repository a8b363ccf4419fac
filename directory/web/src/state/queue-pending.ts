// How many submissions wait for review, for the navigation of the console.
import { computed, effect, untracked } from "@preact/signals";
import { api, ask, type Schemas } from "../api/client.ts";
import { filters, isQueue } from "./queue-address.ts";
import { ofConsole } from "./queue-decisions.ts";
import { queue, waitingCount } from "./queue.ts";
import { Resource } from "./resource.ts";
import { address } from "./router.ts";
import { mayReview, onNewCaller, withSession } from "./session.ts";

export const summary = new Resource<Schemas["QueueSummary"]>(true);
const isWhole = computed(() => isQueue(address.value) && !filters.filtered);

/** The number as far as it is known. The queue itself knows it best. */
export const pending = computed(() => (isWhole.value && queue.data.value ? waitingCount.value : summary.data.value?.queue_length));

/** Keep the number up to date: on each page, and after each change that is made. */
export function startPending(): void {
  onNewCaller(() => summary.clear());
  effect(() => {
    address.value; // each page
    if (mayReview.value) untracked(readPending);
  });
  api.use({
    onResponse({ request, schemaPath }) {
      if (request.method !== "GET" && ofConsole.test(schemaPath)) readPending();
    },
  });
}

function readPending(): void {
  void summary.load("console summary", (signal) => withSession(ask(api.GET("/api/review/summary", { signal }))));
}
