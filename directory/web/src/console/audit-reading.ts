// How the log is read: with the days of this browser, over pages of which some match nothing, and whole for a file.
import { signal } from "@preact/signals";
import { api, ask, askWhole, Problem, type Schemas } from "../api/client.ts";
import { say } from "../state/notice.ts";
import { download, fileName } from "./csv.ts";
import type { Query } from "./listing.ts";
import { w } from "./text.ts";

type Wanted = Record<string, string>;
type AuditQuery = Query<"/api/admin/audit">;

const ROWS = 50;
const PAGES = 10; // that are read for one page of rows, each of up to 20,000 entries

/** The parameters of the API for those of the page's address: days begin and end where the browser is. */
export function askedBy({ since, until, ...others }: Wanted): Wanted {
  const asked: Wanted = { ...others };
  if (since) asked.since = beginning(since, 0);
  if (until) asked.until = beginning(until, 1);
  return asked;
}

function beginning(day: string, later: number): string {
  const [year, month, date] = day.split("-").map(Number) as [number, number, number];
  const at = new Date(year, month - 1, date + later);
  return Number.isNaN(at.getTime()) ? day : at.toISOString();
}

/** A page of rows. A search passes over entries that do not match, and may return fewer than it was asked for. */
export async function readLog(wanted: Wanted, signal: AbortSignal): Promise<Schemas["AuditPage"]> {
  const page = await part(wanted, ROWS, signal);
  for (let read = 1; read < PAGES && page.items.length < ROWS && page.pagination.next_cursor; read++) {
    const more = await part({ ...wanted, cursor: page.pagination.next_cursor }, ROWS - page.items.length, signal);
    page.items.push(...more.items);
    page.pagination.next_cursor = more.pagination.next_cursor;
    page.pagination.prev_cursor ??= more.pagination.prev_cursor;
  }
  return page;
}

function part(wanted: Wanted, limit: number, signal: AbortSignal): Promise<Schemas["AuditPage"]> {
  return ask(api.GET("/api/admin/audit", { params: { query: { ...askedBy(wanted), limit } as AuditQuery }, signal }));
}

/** How many parts of the file are here, while it is being exported. */
export const exporting = signal<number | null>(null);

/** Save all entries that the filters find. */
export async function exportLog({ cursor: _page, ...filters }: Wanted): Promise<void> {
  if (exporting.peek() !== null) return;
  exporting.value = 0;
  const parts: Blob[] = [];
  try {
    for (let cursor: string | null = ""; cursor !== null;) {
      const query: Wanted = { ...askedBy(filters), ...(cursor && { cursor }) };
      const { data, response } = await askWhole(api.GET("/api/admin/audit.csv", { params: { query: query as Query<"/api/admin/audit.csv"> }, parseAs: "blob" }));
      parts.push(data);
      exporting.value = parts.length;
      cursor = nextOf(response.headers.get("Link"));
    }
    download(fileName("log"), ...parts);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    say(w.notExported(error.detail), { bad: true });
  } finally {
    exporting.value = null;
  }
}

function nextOf(link: string | null): string | null {
  const address = /<([^>]*)>; rel="next"/.exec(link ?? "")?.[1];
  return address ? new URL(address, location.href).searchParams.get("cursor") : null;
}
