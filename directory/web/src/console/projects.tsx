// All projects, in every state.
import { api, ask, type Schemas } from "../api/client.ts";
import { added } from "../extras/extra.ts";
import { extras } from "../extras/index.ts";
import { pathOf, safeAddress } from "../parts/address.ts";
import { Time } from "../parts/time.tsx";
import { categories, loadCategories } from "../state/categories.ts";
import { OWNER } from "../state/queue-address.ts";
import type { Page } from "../state/router.ts";
import { isAdministrator, mayReview, personAt, readOnly } from "../state/session.ts";
import { t } from "../text.ts";
import { BulkActions, outcomes } from "./bulk.tsx";
import { Frame } from "./frame.tsx";
import { Listing, type Query } from "./listing.ts";
import { OutcomeList } from "./queue-outcomes.tsx";
import { Listed, type Column } from "./table.tsx";
import { takeDown } from "./take-down.ts";
import { w } from "./text.ts";
import { States, statesOf } from "./turn.tsx";

type Project = Schemas["QueueItem"];
const list = new Listing<Project>(
  "projects",
  [
    { name: "q" },
    { name: "status", values: ["pending", "live", "rejected"] },
    { name: "category", choices: () => (categories.data.value ?? []).map((each) => [each.slug, each.name] as const) },
    { name: "owner", pattern: OWNER },
    ...extras.flatMap(({ ofAll }) => ofAll ?? []),
    { name: "sort", values: ["newest", "oldest", "popular", "upvotes"] },
  ],
  (wanted, signal) => ask(api.GET("/api/review/projects", { params: { query: { limit: 50, ...wanted } as Query<"/api/review/projects"> }, signal })),
  mayReview,
);
const columns: Column<Project>[] = [
  { name: w.number, kind: "file", text: (each) => each.id },
  { name: w.title, kind: "wrap head", text: (each) => each.title, cell: (each) => <><a href={placeOf(each)} dir="auto">{each.title}</a> {added.links && <added.links.Sign item={each} />}</> },
  { name: w.state, text: (each) => statesOf(each).join(", "), cell: (each) => <States project={each} /> },
  { name: w.category, kind: "wrap minor", text: (each) => each.category.name },
  { name: w.owner, kind: "wrap", text: (each) => each.owner.username, cell: (each) => <a href={personAt(each.owner)}>{each.owner.username}</a> },
  { name: w.votes, kind: "number", text: (each) => each.upvotes, sort: { descending: "upvotes" }, cell: votesCell },
  {
    name: w.submitted, sort: { ascending: "oldest", descending: "newest" },
    text: (each) => each.submitted_at, cell: (each) => <Time at={each.submitted_at} />,
  },
  { name: w.published, kind: "file", text: (each) => each.published_at },
  { name: w.website, kind: "file", text: (each) => each.url },
  { name: w.reason, kind: "file", text: (each) => each.rejection_reason ?? null },
  { name: w.actions, kind: "unlabelled", cell: (each) => <Actions project={each} /> },
];

const selecting = {
  nameOf: (each: Project) => each.title,
  actions: (rows: readonly Project[]) => <BulkActions list={list} rows={rows} />,
};

export const projects: Page = {
  enter: (_match, query) => {
    list.enter(query);
    if (!categories.data.peek()) loadCategories();
  },
  view: () => (
    <Frame title={w.pages["/admin/projects"]} reviews>
      <OutcomeList list={outcomes.value} clear={() => (outcomes.value = [])} />
      <Listed listing={list} columns={columns} keyOf={(each) => each.id} none={w.projectsNone} selecting={selecting} />
    </Frame>
  ),
  title: () => w.pages["/admin/projects"],
};

/** A project's page, which shows reviewers only what is live. */
function placeOf(project: Project): string {
  return project.status === "live" || isAdministrator.value ? pathOf(project) : `/admin/queue/${project.id}`;
}

/** How many votes count, for administrators as a link to who voted. */
function votesCell(project: Project) {
  const link = isAdministrator.value && extras.find((each) => each.votes)?.votes?.(project);
  return link ? <a href={link.href} aria-label={link.label}>{t.number(project.upvotes)}</a> : t.number(project.upvotes);
}

function Actions({ project }: { project: Project }) {
  const { id, title, url, status } = project;
  const website = safeAddress(url);
  return (
    <span class="acts">
      {website && <a href={website} target="_blank" rel="nofollow ugc noopener noreferrer" aria-label={`${t.visit}: ${title}`}>{w.website}</a>}
      {isAdministrator.value && <a href={`/admin/audit?project_id=${id}`} aria-label={`${w.log}: ${title}`}>{w.log}</a>}
      {status === "pending" && <a href={`/admin/queue/${id}`} aria-label={`${w.review}: ${title}`}>{w.review}</a>}
      {status === "live" && (
        <button type="button" class="link" aria-label={w.takeDownOf(title)} disabled={readOnly.value} onClick={() => takeDown(project, w.takeDownWhy, () => list.again())}>{w.takeDown}</button>
      )}
    </span>
  );
}
