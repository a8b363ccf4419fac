// The audit log, in sentences.
import { api, ask } from "../api/client.ts";
import { dated } from "../parts/time.tsx";
import type { Page } from "../state/router.ts";
import { actions } from "./actions.ts";
import { About, Sentence } from "./entries.tsx";
import { Frame } from "./frame.tsx";
import { ID, Listing, type Query } from "./listing.ts";
import { changesOf, spoken, type Entry } from "./sentences.ts";
import { Listed, type Column } from "./table.tsx";
import { w } from "./text.ts";

type Asked = Query<"/api/admin/audit">;
const ACTIONS = Object.keys(actions);
const log = new Listing<Entry>(
  "log",
  [{ name: "action", values: ACTIONS }, { name: "project_id", pattern: ID }, { name: "user_id", pattern: ID }, { name: "actor_id", pattern: ID }],
  (wanted, signal) => ask(api.GET("/api/admin/audit", { params: { query: { limit: 50, ...wanted } as Asked }, signal })),
);
const columns: Column<Entry>[] = [
  { name: w.when, kind: "when unlabelled", text: (entry) => entry.at, cell: (entry) => <time dateTime={entry.at}>{dated(entry.at)}</time> },
  { name: w.what, kind: "wrap unlabelled", text: spoken, cell: (entry) => <><Sentence entry={entry} /><About entry={entry} /></> },
  { name: w.reason, kind: "file", text: (entry) => entry.reason },
  { name: w.about, kind: "file", text: (entry) => changesOf(entry).map(({ field, from, to }) => `${field}: ${w.changedFrom(from, to)}`).join("\n") },
  { name: w.action, kind: "file", text: (entry) => entry.action },
  { name: w.filter.actor_id!, kind: "file", text: (entry) => entry.actor?.id ?? null },
  { name: w.filter.project_id!, kind: "file", text: (entry) => entry.project_id },
  { name: w.filter.user_id!, kind: "file", text: (entry) => entry.user_id },
];

export const audit: Page = { enter: (_match, query) => log.enter(query), view: AuditPage, title: () => w.pages["/admin/audit"] };

function AuditPage() {
  return <Frame title={w.pages["/admin/audit"]}><Listed listing={log} columns={columns} keyOf={(entry) => entry.id} none={w.logNone} /></Frame>;
}
