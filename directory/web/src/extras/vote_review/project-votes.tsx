// The votes for one project: who voted, by what signs a vote is doubtful, and decisions which votes count.
import { signal } from "@preact/signals";
import { api, ask, type Schemas } from "../../api/client.ts";
import { pathOf } from "../../parts/address.ts";
import { Empty } from "../../parts/states.tsx";
import { day, Time } from "../../parts/time.tsx";
import { say } from "../../state/notice.ts";
import { Resource } from "../../state/resource.ts";
import type { Page } from "../../state/router.ts";
import { afterSession, isAdministrator, onNewCaller, readOnly, user as caller, withSession } from "../../state/session.ts";
import { t } from "../../text.ts";
import { act, ask as question } from "../../console/dialog-state.ts";
import { Frame } from "../../console/frame.tsx";
import { Listing, type Query } from "../../console/listing.ts";
import { Listed, type Column } from "../../console/table.tsx";
import { w } from "../../console/text.ts";
import { v } from "./text.ts";

type Vote = Schemas["ReceivedVote"];
type Body = Schemas["VoteDecisionsInput"];
type Decision = Body["decision"];
type Rule = NonNullable<Body["match"]>[number];

const AT_ONCE = 1000; // users that one request takes
const RULES: readonly Rule[] = ["new_accounts", "unverified", "single_owner"];
const OPPOSITE = { discount: "count", count: "discount" } as const;
const ACTIONS = { discount: "project.votes_discounted", count: "project.votes_counted" } as const;

const project = new Resource<Schemas["ProjectDetail"]>();
const listing = signal<{ id: number; list: Listing<Vote> } | null>(null);
const summary = signal<Schemas["VoteSummary"] | null>(null);
/** The last decision here, with the users whose votes it changed. */
const last = signal<{ decision: Decision; users: readonly number[] } | null>(null);
onNewCaller(() => {
  project.clear();
  listing.value = summary.value = last.value = null;
});

export const projectVotes: Page = {
  enter: ([id = ""], query) => enter(Number(id), query),
  view: VotesPage,
  title: () => v.votesOf(project.data.value?.title ?? ""),
};

function enter(id: number, query: URLSearchParams): void {
  if (listing.peek()?.id !== id) {
    listing.value = { id, list: listingOf(id) };
    summary.value = last.value = null;
  }
  const params = { path: { project_id: id } };
  afterSession(() => isAdministrator.peek()
    && void project.load(`console project ${id}`, (signal) => withSession(ask(api.GET("/api/projects/{project_id}", { params, signal })))));
  listing.peek()?.list.enter(query);
}

function listingOf(id: number): Listing<Vote> {
  return new Listing<Vote>(`votes-${id}`, [{ name: "counted", values: ["true", "false"] }], async (wanted, signal) => {
    const params = { path: { project_id: id }, query: { limit: 100, ...wanted } as Query<"/api/admin/projects/{project_id}/votes"> };
    const answer = await ask(api.GET("/api/admin/projects/{project_id}/votes", { params, signal }));
    if (listing.peek()?.id === id) summary.value = answer.summary;
    return answer;
  });
}

const columns: Column<Vote>[] = [
  { name: w.number, kind: "file", text: (each) => each.user.id },
  {
    name: v.voter, kind: "wrap head", text: (each) => each.user.username,
    cell: ({ user }) => <a href={`/admin/users/${user.id}`}>{user.username}</a>,
  },
  { name: v.votedAt, text: (each) => each.at, cell: (each) => <Time at={each.at} /> },
  { name: w.state, text: stateOf, cell: (each) => <span class={`badge ${each.counted ? "live" : "rejected"}`}>{stateOf(each)}</span> },
  { name: v.signs, kind: "wrap", text: (each) => signsOf(each).join(", ") },
  { name: w.since, kind: "minor", text: (each) => each.user.created_at, cell: ({ user }) => <time dateTime={user.created_at}>{day(user.created_at)}</time> },
  { name: v.votesInAll, kind: "number", text: (each) => each.votes },
  { name: v.forOwner, kind: "number", text: (each) => each.for_owner },
];

function stateOf({ counted, user }: Vote): string {
  return counted ? v.voteCounts : user.status === "suspended" ? v.voteSuspended : v.voteDiscounted;
}

/** What speaks against a vote: the rules of the summary. */
function signsOf({ user, at, votes, for_owner }: Vote): string[] {
  const holds: Record<Rule, boolean> = {
    new_accounts: Date.parse(at) - Date.parse(user.created_at) < 86_400_000,
    unverified: !user.email_verified,
    single_owner: votes > 1 && votes === for_owner,
  };
  return RULES.filter((rule) => holds[rule]).map((rule) => v.sign[rule]);
}

function VotesPage() {
  const title = project.data.value?.title;
  return <Frame title={title ? v.votesOf(title) : w.votes}><Content /></Frame>;
}

function Content() {
  const shown = listing.value;
  if (project.problem.value?.status === 404) {
    return <Empty title={v.projectGone} why={v.projectGoneWhy}><a class="button" href="/admin/projects">{v.toProjects}</a></Empty>;
  }
  if (!shown) return null;
  const { id, list } = shown;
  const selecting = { nameOf: (each: Vote) => each.user.username, actions: (rows: readonly Vote[]) => <Decisions rows={rows} /> };
  return (
    <>
      <Summary />
      <Undo />
      <Listed key={id} listing={list} columns={columns} keyOf={(each) => each.user.id} none={v.votesNone} selecting={selecting}>
        {project.data.value && <a href={pathOf(project.data.value)}>{v.toProject}</a>}
      </Listed>
    </>
  );
}

function Summary() {
  const found = summary.value;
  if (!found) return null;
  return (
    <dl class="figures">
      {(["counted", "discounted", "suspended"] as const).map((name) => <div key={name}><dt>{v.votesAre[name]}</dt><dd>{t.number(found[name])}</dd></div>)}
      {RULES.map((rule) => (
        <div key={rule}>
          <dt>{v.sign[rule]}</dt>
          <dd>{t.number(found[rule])}</dd>
          {found[rule] > 0 && (
            <dd class="acts small">
              {(["discount", "count"] as const).map((decision) => (
                <button key={decision} type="button" class="link" disabled={readOnly.value} aria-label={v.judgeRule(decision, v.sign[rule])}
                  onClick={() => judge(decision, { match: [rule] }, found[rule])}>{v.judgeAll[decision]}</button>
              ))}
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}

/** The buttons for the votes that are selected. A vote of a suspended user may be discounted or not: both fit. */
function Decisions({ rows }: { rows: readonly Vote[] }) {
  const users = (fitting: (each: Vote) => boolean) => rows.filter((each) => fitting(each) || each.user.status === "suspended").map((each) => each.user.id);
  const fitting: Record<Decision, number[]> = { discount: users((each) => each.counted), count: users((each) => !each.counted) };
  return (
    <>
      {(["discount", "count"] as const).map((decision) => fitting[decision].length > 0 && (
        <button key={decision} type="button" class={`button small${decision === "discount" ? " danger" : ""}`} disabled={readOnly.value}
          onClick={() => judge(decision, { user_ids: fitting[decision] }, fitting[decision].length)}>{v.judge(decision, fitting[decision].length)}</button>
      ))}
    </>
  );
}

function Undo() {
  const done = last.value;
  if (!done) return null;
  const undo = () => act("undo votes", async () => {
    const opposite = OPPOSITE[done.decision];
    for (let start = 0; start < done.users.length; start += AT_ONCE) {
      await send({ decision: opposite, user_ids: done.users.slice(start, start + AT_ONCE) });
    }
    last.value = null;
    say(v.judged(opposite, done.users.length));
  });
  return (
    <div class="banner" role="group" aria-label={v.lastJudged}>
      <p>{v.judged(done.decision, done.users.length)}</p>
      <button type="button" class="button small" disabled={readOnly.value} onClick={() => void undo()}>{v.undo}</button>
    </div>
  );
}

function judge(decision: Decision, which: Pick<Body, "match" | "user_ids">, number: number): void {
  question({
    title: v.judgeTitle(decision, number), text: v.judgeWhy[decision], action: v.judgeDo[decision], danger: decision === "discount",
    fields: [{ name: "reason", label: w.reason, hint: v.judgeReason, kind: "text", optional: true }],
    act: async ({ reason = "" }) => {
      const { changed } = await send({ decision, ...which, ...(reason.trim() && { reason }) });
      last.value = changed ? { decision, users: await changedBy(decision) } : last.peek();
      say(v.judged(decision, changed));
    },
  });
}

async function send(body: Body): Promise<Schemas["VotesDecided"]> {
  const shown = listing.peek()!;
  const answer = ask(api.POST("/api/admin/projects/{project_id}/votes/decisions", { params: { path: { project_id: shown.id } }, body }));
  return answer.finally(() => {
    shown.list.selected.value = new Set();
    void shown.list.again();
  });
}

/** Whose votes the caller's latest decision changed, as the log says: a rule may match more than the table shows. */
async function changedBy(decision: Decision): Promise<readonly number[]> {
  const query = { project_id: listing.peek()!.id, actor_id: caller.peek()!.id, action: ACTIONS[decision], limit: 1 };
  const { items } = await ask(api.GET("/api/admin/audit", { params: { query } }));
  return items[0]?.votes?.user_ids ?? [];
}
