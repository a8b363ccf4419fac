// The audit log, in sentences.
import { sentences } from "../api/events.ts";
import { dated } from "../parts/time.tsx";
import { DAY, type Filter, ID, wantedBy } from "../state/filtering.ts";
import { address, type Page } from "../state/router.ts";
import { exporting, exportLog, readLog } from "./audit-reading.ts";
import { About, Sentence } from "./entries.tsx";
import { Frame } from "./frame.tsx";
import { Listing } from "./listing.ts";
import type { Entry } from "./sentences.ts";
import { Listed, type Column } from "./table.tsx";
import { w } from "./text.ts";

const USERNAME = /^[A-Za-z0-9_-]{3,32}$/;
const FILTERS: readonly Filter[] = [
  { name: "q" },
  { name: "action", values: Object.keys(sentences) },
  { name: "actor", pattern: USERNAME },
  { name: "user", pattern: USERNAME },
  { name: "imports", values: ["false"], named: { false: w.hidden } },
  { name: "since", pattern: DAY, isDay: true },
  { name: "until", pattern: DAY, isDay: true },
  ...["project_id", "user_id", "actor_id"].map((name) => ({ name, pattern: ID, fromLinks: true })),
];
const log = new Listing<Entry>("log", FILTERS, readLog);
const columns: Column<Entry>[] = [
  { name: w.when, kind: "when unlabelled", cell: (entry) => <time dateTime={entry.at}>{dated(entry.at)}</time> },
  { name: w.what, kind: "wrap unlabelled", cell: (entry) => <><Sentence entry={entry} /><About entry={entry} /></> },
];

export const audit: Page = { enter: (_match, query) => log.enter(query), view: AuditPage, title: () => w.pages["/admin/audit"] };

function AuditPage() {
  return (
    <Frame title={w.pages["/admin/audit"]}>
      <Listed listing={log} columns={columns} keyOf={(entry) => entry.id} none={w.logNone} exporting={<Export />} />
    </Frame>
  );
}

/** Saves all entries that the filters find, of whatever page. */
function Export() {
  const wanted = wantedBy(address.value.searchParams, FILTERS);
  const parts = exporting.value;
  return (
    <button type="button" class="button small" disabled={!wanted || parts !== null} onClick={() => void exportLog(wanted!)}>
      {parts === null ? w.export : w.exporting(parts)}
    </button>
  );
}
