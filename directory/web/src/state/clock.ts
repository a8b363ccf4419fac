// The service's clock, by the Date of its answers: the browser's own may be wrong by hours.
import { api } from "../api/client.ts";

const LEAST = 5000; // milliseconds of a difference that counts; Date has whole seconds, and an answer takes its time
let ahead = 0;

api.use({
  onResponse({ response }) {
    const difference = Date.parse(response.headers.get("Date") ?? "") - Date.now();
    if (!Number.isNaN(difference)) ahead = Math.abs(difference) < LEAST ? 0 : difference;
  },
});

/** The present time of the service, in milliseconds. */
export function now(): number {
  return Date.now() + ahead;
}
