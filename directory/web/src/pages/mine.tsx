// What is one's own: projects by state, each with its history, and what one has voted for.
import { signal } from "@preact/signals";
import { api, ask, type Schemas } from "../api/client.ts";
import { More } from "../parts/more.tsx";
import { Monogram } from "../parts/monogram.tsx";
import { MembersOnly } from "../parts/members.tsx";
import { pathOf, Rows, type Project } from "../parts/row.tsx";
import { Empty, Failed, Skeleton, Stale } from "../parts/states.tsx";
import { forgetTimelines, Timeline } from "../parts/timeline.tsx";
import { Time } from "../parts/time.tsx";
import { showPresent } from "../parts/tabs.ts";
import { Resource } from "../state/resource.ts";
import { address, withQuery, type Page } from "../state/router.ts";
import { afterSession, session, user } from "../state/session.ts";
import { note } from "../state/votes.ts";
import { f } from "../text.forms.ts";
import { t } from "../text.ts";

type Own = Schemas["ProjectDetail"];
type Tab = "all" | "pending" | "live" | "rejected" | "votes";
interface Shown {
  items: readonly Own[];
  next: string | null;
}
const TABS: Tab[] = ["all", "pending", "live", "rejected", "votes"];
const shown = new Resource<Shown>();
const counts = new Resource<{ live: number; pending: number; rejected: number }>(true);
const open = signal<number | null>(null); // the project whose history is shown

export const mine: Page = { enter, view: MinePage, title: () => f.mineTitle };

function tabOf(query: URLSearchParams): Tab {
  const asked = query.get("show") as Tab;
  return TABS.includes(asked) ? asked : "all";
}

function enter(_match: string[], query: URLSearchParams): void {
  open.value = null;
  forgetTimelines();
  shown.clear();
  afterSession(() => user.peek() && load(tabOf(query)));
}

function load(tab: Tab): void {
  void shown.load(`mine ${tab}`, (signal) => read(tab, null, signal));
  void counts.load("counts", (signal) => ask(api.GET("/api/projects/counts", { params: { query: { owner: "me" } }, signal })));
}

async function read(tab: Tab, cursor: string | null, signal?: AbortSignal): Promise<Shown> {
  const chosen = tab === "votes" ? { upvoted: "me" as const } : { owner: "me", ...(tab !== "all" && { status: tab }) };
  const query = { ...chosen, ...(cursor && { cursor }) };
  const began = performance.now();
  const { items, pagination } = await ask(api.GET("/api/projects", { params: { query }, signal }));
  note(items, began);
  return { items, next: pagination.next_cursor };
}

async function more(): Promise<void> {
  const before = shown.data.peek();
  if (!before?.next) return;
  const page = await read(tabOf(address.peek().searchParams), before.next);
  if (shown.data.peek() === before) shown.set({ ...page, items: [...before.items, ...page.items] }); // else another tab is shown
}

function MinePage() {
  if (session.value && !user.value) return <MembersOnly />;
  const tab = tabOf(address.value.searchParams);
  const numbers = counts.data.value;
  return (
    <div class="wide narrow">
      <h1>{f.mineTitle}</h1>
      <nav class="tabs scrolls" aria-label={f.mineTitle} ref={(nav) => showPresent(nav)}>
        {TABS.map((each) => (
          <a key={each} href={withQuery({ show: each === "all" ? "" : each })} aria-current={each === tab ? "true" : undefined}>
            {each === "votes" ? f.mineVotes : each === "all" ? t.all : t.states[each]}
            {each !== "votes" && each !== "all" && <span class={`count${numbers ? "" : " waiting"}`}>{t.number(numbers?.[each] ?? 0)}</span>}
          </a>
        ))}
      </nav>
      <List tab={tab} />
    </div>
  );
}

function List({ tab }: { tab: Tab }) {
  const found = shown.data.value;
  const problem = shown.problem.value;
  const again = () => void shown.again();
  if (!found) return problem ? <Failed problem={problem} again={again} /> : <Skeleton rows={3} />;
  return (
    <>
      {problem && <Stale problem={problem} again={again} />}
      {!found.items.length ? <Nothing tab={tab} />
        : tab === "votes" ? <Rows projects={found.items as readonly Project[]} busy={shown.busy.value} />
        : <div class="rows" aria-busy={shown.busy.value}>{found.items.map((each) => <OwnRow key={each.id} project={each} />)}</div>}
      {found.next && <More add={more} links=".rows h2 a" />}
    </>
  );
}

function Nothing({ tab }: { tab: Tab }) {
  if (tab === "votes") return <Empty title={f.votesEmpty} why={f.votesEmptyWhy}><a class="button" href="/">{t.toDirectory}</a></Empty>;
  return <Empty title={f.mineEmpty[tab]} why={f.mineEmptyWhy}><a class="button primary" href="/submit">{t.submit}</a></Empty>;
}

/** Whether it waits for its owner, and so has no place in the queue. */
function isTakenDown({ status, queue_position }: Own): boolean {
  return status === "pending" && queue_position === null;
}

function OwnRow({ project }: { project: Own }) {
  const { id, title, tagline, status, upvotes, rejection_reason, queue_position, submitted_at, revision } = project;
  const isOpen = open.value === id;
  return (
    <article class="row own">
      <Monogram name={title} logo={project.logo} />
      <div class="grow">
        <h2 dir="auto"><a href={pathOf(project)}>{title}</a></h2>
        <p class="tagline" dir="auto">{tagline}</p>
        <p class="meta">
          <span class={`badge ${isTakenDown(project) ? "rejected" : status}`}>{isTakenDown(project) ? t.takenDown : t.states[status]}</span>
          {status === "live" && <span>{f.votes(upvotes)}</span>}
          {status === "pending" && queue_position != null && <span>{f.place(queue_position)}</span>}
          <Time at={submitted_at} />
        </p>
        {revision?.submitted_at && <p class="meta"><span class="badge pending">{t.states.pending}</span> <span>{f.changesWait(queue_position ?? null)}</span></p>}
        {revision && !revision.submitted_at && (
          <p class="reason" dir="auto"><strong>{f.changesRefused}.</strong> {revision.reason && `${t.reason}: ${revision.reason}`}</p>
        )}
        {isTakenDown(project) && <p class="meta">{f.takenDownWhat}</p>}
        {rejection_reason && <p class="reason" dir="auto"><strong>{t.reason}:</strong> {rejection_reason}</p>}
        <p class="actions">
          <a class="button small" href={`/submit?project=${id}`}>{status === "rejected" ? t.editAgain : t.edit}</a>
          <button type="button" class="button small" aria-expanded={isOpen} onClick={() => (open.value = isOpen ? null : id)}>{t.history}</button>
        </p>
        {isOpen && <Timeline id={id} />}
      </div>
    </article>
  );
}
