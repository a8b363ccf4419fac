// What visitors have reported of live projects, by project, and how that is settled.
import { api, ask, type Schemas } from "../../api/client.ts";
import { pathOf, safeAddress } from "../../parts/address.ts";
import { Time } from "../../parts/time.tsx";
import { say } from "../../state/notice.ts";
import type { Page } from "../../state/router.ts";
import { mayReview, personAt, readOnly } from "../../state/session.ts";
import { t } from "../../text.ts";
import { ask as question } from "../../console/dialog-state.ts";
import { Frame } from "../../console/frame.tsx";
import { Listing, type Query } from "../../console/listing.ts";
import { Listed, type Column } from "../../console/table.tsx";
import { takeDown } from "../../console/take-down.ts";
import { w } from "../../console/text.ts";
import { r } from "./text.ts";

type Group = Schemas["ReportGroup"];
type Outcome = Schemas["SettlementInput"]["outcome"];
const list = new Listing<Group>(
  "reports",
  [{ name: "state", values: ["settled"], named: { settled: r.settledOnes }, unset: r.openOnes }, { name: "kind", values: Object.keys(r.kinds), named: r.kinds }],
  (wanted, signal) => ask(api.GET("/api/review/reports", { params: { query: { limit: 50, ...wanted } as Query<"/api/review/reports"> }, signal })),
  mayReview,
);
const columns: Column<Group>[] = [
  { name: w.title, kind: "wrap head", text: ({ project }) => project.title, cell: ({ project }) => <a href={project.status === "live" ? pathOf(project) : `/admin/queue/${project.id}`} dir="auto">{project.title}</a> },
  { name: w.category, kind: "wrap minor", text: ({ project }) => project.category.name },
  { name: r.reports, kind: "wrap", text: kindsOf, cell: (each) => <>{kindsOf(each)}<Texts group={each} /></> },
  { name: r.firstAt, text: (each) => each.first_at, cell: (each) => <Time at={each.first_at} /> },
  { name: r.outcome, kind: "wrap", text: outcomeOf, cell: (each) => each.outcome && <>{outcomeOf(each)} {each.settled_at && <Time at={each.settled_at} />}</> },
  { name: w.actions, kind: "unlabelled", cell: (each) => <Actions group={each} /> },
];

export const reports: Page = {
  enter: (_match, query) => list.enter(query),
  view: () => (
    <Frame title={r.reports} reviews>
      <Listed listing={list} columns={columns} keyOf={({ project }) => project.id} none={r.reportsNone} />
    </Frame>
  ),
  title: () => r.reports,
};

function kindsOf({ kinds }: Group): string {
  return Object.entries(kinds).map(([kind, number]) => `${r.kinds[kind]}: ${t.number(number)}`).join(", ");
}

function outcomeOf({ outcome, reply }: Group): string {
  return outcome ? [r.outcomes[outcome], reply].filter(Boolean).join(": ") : "";
}

/** What the reporters wrote; administrators see who they are, also those who wrote nothing. */
function Texts({ group: { texts, reports = [] } }: { group: Group }) {
  const names = new Map(reports.flatMap(({ reporter }) => (reporter ? [[reporter.id, reporter]] : [])));
  return (
    <>
    {names.size > 0 && <p class="muted">{r.reportedBy} {[...names.values()].map((each, place) => <span key={each.id}>{place > 0 && ", "}<a href={personAt(each)}>{each.username}</a></span>)}</p>}
    {texts.length > 0 && <ul class="q-log">
      {texts.map(({ text, kind, at, reporter }, place) => (
        <li key={place}>
          <p class="reason" dir="auto">{text}</p>
          <span class="muted">{r.kinds[kind]}{reporter && <>, <a href={personAt(reporter)}>{reporter.username}</a></>}, <Time at={at} /></span>
        </li>
      ))}
    </ul>}
    </>
  );
}

function Actions({ group: { project, outcome } }: { group: Group }) {
  const website = safeAddress(project.url);
  const act = (name: string, about: string, ask: () => void) => (
    <button type="button" class="link" aria-label={`${name}: ${project.title}`} disabled={readOnly.value} onClick={ask}>{about}</button>
  );
  return (
    <span class="acts">
      {website && <a href={website} target="_blank" rel="nofollow ugc noopener noreferrer" aria-label={`${t.visit}: ${project.title}`}>{w.website}</a>}
      {project.status === "live" && act(w.takeDown, w.takeDown, () => takeDown(project, r.takeDownWhy, () => list.again()))}
      {!outcome && act(r.settle.acted, r.settle.acted, () => settle(project, "acted"))}
      {!outcome && act(r.settle.unfounded, r.settle.unfounded, () => settle(project, "unfounded"))}
    </span>
  );
}

function settle({ id, title }: Group["project"], outcome: Outcome): void {
  question({
    title: r.settleOf(title), text: r.settleWhy[outcome], action: r.settle[outcome],
    fields: [{ name: "reply", label: r.reply, hint: r.replyHint, kind: "text", optional: true }],
    act: async ({ reply = "" }) => {
      const body = { outcome, ...(reply.trim() && { reply }) };
      await ask(api.PUT("/api/review/reports/{project_id}/settle", { params: { path: { project_id: id } }, body }));
      say(r.settled(title));
      void list.again();
    },
  });
}
