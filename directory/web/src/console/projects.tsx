// All projects, in every state.
import { api, ask, type Schemas } from "../api/client.ts";
import { pathOf, safeAddress } from "../parts/address.ts";
import { Time } from "../parts/time.tsx";
import { categories, loadCategories } from "../state/categories.ts";
import { say } from "../state/notice.ts";
import type { Page } from "../state/router.ts";
import { readOnly } from "../state/session.ts";
import { t } from "../text.ts";
import { ask as question } from "./dialog-state.ts";
import { BulkActions, outcomes } from "./bulk.tsx";
import { Frame } from "./frame.tsx";
import { Listing, type Query } from "./listing.ts";
import { OutcomeList } from "./queue-outcomes.tsx";
import { Listed, type Column } from "./table.tsx";
import { w } from "./text.ts";
import { v } from "./votes-text.ts";

type Project = Schemas["QueueItem"];
const list = new Listing<Project>(
  "projects",
  [
    { name: "q" },
    { name: "status", values: ["pending", "live", "rejected"] },
    { name: "category", choices: () => (categories.data.value ?? []).map((each) => [each.slug, each.name] as const) },
    { name: "owner", pattern: /^[a-z0-9_-]{3,32}$|^me$/i },
    { name: "sort", values: ["newest", "oldest", "popular", "upvotes"] },
  ],
  ({ owner, ...wanted }, signal) => {
    const query = { limit: 50, ...wanted, ...(owner && { owner: owner.toLowerCase() }) };
    return ask(api.GET("/api/admin/projects", { params: { query: query as Query<"/api/admin/projects"> }, signal }));
  },
);
const columns: Column<Project>[] = [
  { name: w.number, kind: "file", text: (each) => each.id },
  { name: w.title, kind: "wrap head", text: (each) => each.title, cell: (each) => <a href={pathOf(each)} dir="auto">{each.title}</a> },
  { name: w.state, text: (each) => each.status, cell: (each) => <span class={`badge ${each.status}`}>{w.values[each.status]}</span> },
  { name: w.category, kind: "wrap minor", text: (each) => each.category.name },
  { name: w.owner, kind: "wrap", text: (each) => each.owner.username, cell: (each) => <a href={`/admin/users/${each.owner.id}`}>{each.owner.username}</a> },
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
    <Frame title={w.pages["/admin/projects"]}>
      <OutcomeList list={outcomes.value} clear={() => (outcomes.value = [])} />
      <Listed listing={list} columns={columns} keyOf={(each) => each.id} none={w.projectsNone} selecting={selecting} />
    </Frame>
  ),
  title: () => w.pages["/admin/projects"],
};

/** How many votes count, as a link to who voted. */
function votesCell({ id, title, upvotes }: Project) {
  return <a href={`/admin/projects/${id}`} aria-label={v.votesFor(title, upvotes)}>{t.number(upvotes)}</a>;
}

function Actions({ project }: { project: Project }) {
  const { id, title, url, status } = project;
  const website = safeAddress(url);
  return (
    <span class="acts">
      {website && <a href={website} target="_blank" rel="nofollow ugc noopener noreferrer" aria-label={`${t.visit}: ${title}`}>{w.website}</a>}
      <a href={`/admin/audit?project_id=${id}`} aria-label={`${w.log}: ${title}`}>{w.log}</a>
      {status === "pending" && <a href={`/admin/queue/${id}`} aria-label={`${w.review}: ${title}`}>{w.review}</a>}
      {status === "live" && (
        <button type="button" class="link" aria-label={w.takeDownOf(title)} disabled={readOnly.value} onClick={() => takeDown(project)}>{w.takeDown}</button>
      )}
    </span>
  );
}

function takeDown({ id, title, version }: Project): void {
  question({
    title: w.takeDownOf(title), text: w.takeDownWhy, action: w.takeDown, danger: true,
    fields: [{ name: "reason", label: w.reason, kind: "text", optional: true }],
    act: async ({ reason }) => {
      const params = { path: { project_id: id }, header: { "If-Match": `"${version}"` } };
      const answer = ask(api.PUT("/api/admin/projects/{project_id}/unpublish", { params, body: reason?.trim() ? { reason } : {} }));
      await answer.finally(() => void list.again()); // also where another version or state is the reason of a refusal
      say(w.takenDownOne(title));
    },
  });
}
