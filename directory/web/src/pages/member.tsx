// A member as everybody sees them: since when, and their live projects.
import { api, ask, type Got } from "../api/client.ts";
import { Monogram } from "../parts/monogram.tsx";
import { Rows, type Project } from "../parts/row.tsx";
import { Empty, Failed, Skeleton, Stale } from "../parts/states.tsx";
import { day } from "../parts/time.tsx";
import { Resource } from "../state/resource.ts";
import type { Page } from "../state/router.ts";
import { note } from "../state/votes.ts";
import { t } from "../text.ts";

type Member = Got<"/api/users/{username}">;
interface Shown {
  member: Member;
  projects: readonly Project[];
}
const MOST = 100;
const shown = new Resource<Shown>();

export const member: Page = {
  enter: ([name = ""]) => void shown.load(`member ${name}`, (signal) => read(name, signal)),
  view: MemberPage,
  title: () => shown.data.value?.member.username ?? "",
};

async function read(username: string, signal: AbortSignal): Promise<Shown> {
  const began = performance.now();
  const [found, { items }] = await Promise.all([
    ask(api.GET("/api/users/{username}", { params: { path: { username } }, signal })),
    ask(api.GET("/api/projects", { params: { query: { owner: username, sort: "upvotes", limit: MOST } }, signal })),
  ]);
  note(items, began);
  return { member: found, projects: items };
}

function MemberPage() {
  const found = shown.data.value;
  const problem = shown.problem.value;
  const again = () => void shown.again();
  if (problem?.status === 404 || problem?.status === 422) {
    return <div class="wide"><Empty whole title={t.memberGone} why={t.memberGoneWhy}><a class="button" href="/">{t.toDirectory}</a></Empty></div>;
  }
  if (!found) return <div class="wide">{problem ? <Failed whole problem={problem} again={again} /> : <Skeleton rows={4} />}</div>;
  const { username, created_at, live_projects, upvotes_received } = found.member;
  return (
    <div class="wide">
      {problem && <Stale problem={problem} again={again} />}
      <header class="member">
        <Monogram name={username} large />
        <div class="grow">
          <h1>{username}</h1>
          <p class="lead">{[t.memberSince(day(created_at)), t.memberLive(live_projects), t.memberVotes(upvotes_received)].join(" · ")}</p>
        </div>
      </header>
      {found.projects.length ? <Rows projects={found.projects} busy={shown.busy.value} />
        : <Empty title={t.memberEmpty} why={t.memberEmptyWhy(username)} />}
    </div>
  );
}
