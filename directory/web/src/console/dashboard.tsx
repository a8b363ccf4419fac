// The console's first page: what waits, and how much there is.
import { api, ask, type Schemas } from "../api/client.ts";
import { Gate } from "./gate.tsx";
import { Failed, Skeleton } from "../parts/states.tsx";
import { ago } from "../parts/time.tsx";
import { Resource } from "../state/resource.ts";
import type { Page } from "../state/router.ts";
import { onceKnown, user } from "../state/session.ts";
import { t } from "../text.ts";
import { c } from "./text.ts";

const figures = new Resource<Schemas["Analytics"]>(true);

export const dashboard: Page = {
  enter: () => onceKnown(() => user.peek()?.is_admin && void figures.load("analytics", read)),
  view: () => <Gate><Dashboard /></Gate>,
  title: () => c.console,
};

function read(signal: AbortSignal): Promise<Schemas["Analytics"]> {
  return ask(api.GET("/api/admin/analytics", { params: { query: { days: 30 } }, signal }));
}

function Dashboard() {
  const shown = figures.data.value;
  const problem = figures.problem.value;
  if (!shown) return problem ? <Failed problem={problem} again={() => void figures.again()} /> : <Skeleton rows={3} />;
  const { review, totals } = shown;
  const numbers: [string, string][] = [
    [c.waiting, t.number(review.queue_length)],
    [c.oldest, review.oldest_submitted_at ? ago(review.oldest_submitted_at) : c.none],
    [c.live, t.number(totals.projects.live)],
    [c.members, t.number(totals.users.total)],
  ];
  return (
    <div class="wide">
      <h1>{c.console}</h1>
      <dl class="figures">{numbers.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
    </div>
  );
}
