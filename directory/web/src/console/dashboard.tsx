// The console's first page: what waits, what happens, and what is liked.
import type { ComponentChildren } from "preact";
import { api, ask, type Schemas } from "../api/client.ts";
import { extras } from "../extras/index.ts";
import { Failed, Skeleton, Stale } from "../parts/states.tsx";
import { ago, Time } from "../parts/time.tsx";
import { loadCategories } from "../state/categories.ts";
import { summary } from "../state/queue-pending.ts";
import { Resource } from "../state/resource.ts";
import { navigate, query, withQuery, type Page } from "../state/router.ts";
import { afterSession, isAdministrator, mayReview, onNewCaller, withSession } from "../state/session.ts";
import { t } from "../text.ts";
import { Charts, type Panel } from "./chart.tsx";
import { FirstStart, loadFirstStart } from "./first-start.tsx";
import { Frame } from "./frame.tsx";
import { r } from "./review-text.ts";
import { w } from "./text.ts";
import { Top } from "./top.tsx";

type Figures = Schemas["Analytics"];
const PERIODS = [7, 30, 90, 365];
const USUAL = 30;
const FLOW: Panel[] = [
  { name: w.series.submissions, parts: ["submissions"], imports: true },
  { name: w.series.decisions, parts: ["approvals", "rejections"] },
];
const ACTIVITY: Panel[] = [{ name: w.series.upvotes, parts: ["upvotes"] }, { name: w.series.signups, parts: ["signups"] }];

const figures = new Resource<Figures>(true);
const endpoints = new Resource<Schemas["EndpointList"]["items"]>(true);
onNewCaller(() => {
  figures.clear();
  endpoints.clear();
});

export const dashboard: Page = {
  enter: (_match, asked) => afterSession(() => {
    if (isAdministrator.peek()) load(daysOf(asked));
    else if (mayReview.peek()) navigate("/admin/queue", { replace: true });
  }),
  view: () => <Frame title={w.pages["/admin"]}><Needed /><Dashboard /></Frame>,
  title: () => w.pages["/admin"],
};

/** The period that an address asks for. */
export function daysOf(asked: URLSearchParams): number {
  const days = Number(asked.get("days"));
  return PERIODS.includes(days) ? days : USUAL;
}

function load(days: number): void {
  loadCategories();
  loadFirstStart();
  void endpoints.load("console dead deliveries", async (signal) => (await withSession(ask(api.GET("/api/admin/webhooks/endpoints", { signal })))).items);
  extras.forEach(({ ranking }) => ranking?.load());
  void figures.load(`console analytics ${days}`, (signal) => withSession(ask(api.GET("/api/admin/analytics", { params: { query: { days } }, signal }))));
}

/** What needs somebody: each a number that leads there. */
function Needed() {
  const waits = summary.data.value;
  if (!waits) return null;
  const dead = endpoints.data.value?.reduce((sum, { deliveries }) => sum + deliveries.dead, 0);
  const needed: [name: string, path: string, number?: number | null][] = [
    [r.lanes.appeal, "/admin/queue?waiting_for=appeal", waits.waiting_for_appeal],
    [r.lanes.held, "/admin/queue?held=true", waits.held],
    ...extras.flatMap(({ menu = [] }) => menu).map(({ name, path, waiting }): [string, string, number?] => [name, path, waiting?.() ?? 0]),
    [r.lanes.messages, "/admin/queue?answered=true", waits.messages],
    [w.deadDeliveries, "/admin/deliveries?state=dead", dead],
  ];
  const some = needed.filter(([, , number]) => number);
  if (!some.length) return null;
  return (
    <section class="needed" aria-label={w.needed}>
      {some.map(([name, path, number]) => <a key={path} class="button" href={path}>{name} <strong>{t.number(number ?? 0)}</strong></a>)}
    </section>
  );
}

function Dashboard() {
  const shown = figures.data.value;
  const problem = figures.problem.value;
  const again = () => void figures.again();
  const days = daysOf(query.value);
  if (problem && shown?.series.length !== days) return <Failed problem={problem} again={again} />;
  if (!shown) return <Skeleton rows={3} />;
  return (
    <div aria-busy={figures.busy.value}>
      {problem && <Stale problem={problem} again={again} />}
      {shown.totals.projects.live === 0 && <FirstStart mailed={endpoints.data.value ? endpoints.data.value.some(({ format }) => format === "mail") : null} />}
      <Numbers figures={shown} />
      <nav class="tabs periods" aria-label={w.periods}>
        {PERIODS.map((each) => (
          <a key={each} href={withQuery({ days: each === USUAL ? "" : String(each) })} aria-current={each === days ? "true" : undefined}>{w.period(each)}</a>
        ))}
      </nav>
      <Charts title={w.flow} panels={FLOW} figures={shown} />
      <Charts title={w.activity} panels={ACTIVITY} figures={shown} />
      <div class="tops"><TopProjects figures={shown} /><TopCategories figures={shown} />{extras.map(({ name, ranking: Ranking }) => Ranking && <Ranking.view key={name} />)}</div>
      <Reviewers figures={shown} />
      <p class="small muted generated">{w.generated} <Time at={shown.generated_at} /></p>
    </div>
  );
}

function Numbers({ figures: { review, totals } }: { figures: Figures }) {
  const { queue_length, waiting_for_owner, appeals, oldest_submitted_at: oldest, median_seconds_to_decision: median, approval_rate: rate } = review;
  const numbers: [name: string, value: ComponentChildren, more?: string][] = [
    [w.waiting, <a href="/admin/queue">{t.number(queue_length)}</a>],
    [w.oldest, oldest ? ago(oldest) : w.noneWaits],
    [w.withOwners, <a href="/admin/queue?waiting_for=owner">{t.number(waiting_for_owner)}</a>],
    [w.appeals, <a href="/admin/queue?waiting_for=appeal">{t.number(appeals.open)}</a>, w.appealsOf(appeals.upheld, appeals.reversed)],
    [w.decision, median === null ? w.decisionNone : w.duration(median)],
    [w.approvalRate, rate === null ? w.decisionNone : w.rate(rate)],
    [w.liveProjects, t.number(totals.projects.live)],
    [w.members, t.number(totals.users.total)],
  ];
  return <dl class="figures of-site">{numbers.map(([name, value, more]) => <div key={name}><dt>{name}</dt><dd>{value}</dd>{more && <dd class="small">{more}</dd>}</div>)}</dl>;
}

function TopProjects({ figures }: { figures: Figures }) {
  const rows = figures.top_projects.map(({ id, slug, title, upvotes }) => ({ key: id, name: <a href={`/p/${id}/${slug}`} dir="auto">{title}</a>, number: upvotes }));
  return <Top title={w.topProjects} what={w.votes} rows={rows} />;
}

function TopCategories({ figures }: { figures: Figures }) {
  const rows = figures.top_categories.map(({ slug, name, live_projects }) => ({ key: slug, name: <a href={`/?category=${slug}`}>{name}</a>, number: live_projects }));
  return <Top title={w.topCategories} what={w.live} rows={rows} />;
}

function Reviewers({ figures: { reviewers } }: { figures: Figures }) {
  return (
    <section class="section">
      <h2>{w.reviewers}</h2>
      {reviewers.length === 0 ? <p class="muted">{w.noReviewers}</p> : (
        <div class="days" tabIndex={0} role="region" aria-label={w.reviewers}>
          <table>
            <thead><tr>{[w.reviewer, w.series.approvals, w.series.rejections, w.median].map((name) => <th scope="col" key={name}>{name}</th>)}</tr></thead>
            <tbody>
              {reviewers.map(({ id, username, approved, rejected, median_seconds }) => (
                <tr key={id}>
                  <th scope="row"><a href={`/admin/users/${id}`}>{username}</a></th>
                  <td>{t.number(approved)}</td><td>{t.number(rejected)}</td><td>{median_seconds === null ? w.empty : w.duration(median_seconds)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
