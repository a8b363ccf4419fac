// How many submissions wait for review, for the navigation of the console.
import { computed, effect, untracked } from "@preact/signals";
import { api, ask } from "../api/client.ts";
import { isQueue, queue, waitingCount } from "./queue.ts";
import { Resource } from "./resource.ts";
import { address } from "./router.ts";
import { isAdministrator, onNewCaller, withSession } from "./session.ts";

const read = new Resource<number>(true);

/** The number as far as it is known. The queue itself knows it best. */
export const pending = computed(() => (isQueue(address.value) && queue.data.value ? waitingCount.value : read.data.value));

/** Keep the number up to date: on each page, and after each change that is made. */
export function startPending(): void {
  onNewCaller(() => read.clear());
  effect(() => {
    if (isAdministrator.value && !isQueue(address.value)) untracked(readPending);
  });
  api.use({
    onResponse({ request, schemaPath }) {
      if (request.method !== "GET" && schemaPath.startsWith("/api/admin/")) readPending();
    },
  });
}

function readPending(): void {
  const query = { waiting: "true" as const, limit: 1 };
  void read.load("console pending", async (signal) => {
    const found = await withSession(ask(api.GET("/api/admin/projects", { params: { query }, signal })));
    return found.pagination.total;
  });
}
