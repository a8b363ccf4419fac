// The deliveries of webhooks, and the endpoints that they go to.
import { signal } from "@preact/signals";
import { api, ask, type Schemas } from "../api/client.ts";
import { delivered } from "../api/events.ts";
import { Failed, Skeleton } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { ID } from "../state/filtering.ts";
import { say } from "../state/notice.ts";
import { Resource } from "../state/resource.ts";
import { address, type Page } from "../state/router.ts";
import { afterSession, isAdministrator, onNewCaller, readOnly, user, withSession } from "../state/session.ts";
import { t } from "../text.ts";
import { act, busy } from "./dialog-state.ts";
import { Frame } from "./frame.tsx";
import { Listing, type Query } from "./listing.ts";
import { Listed, type Column } from "./table.tsx";
import { w } from "./text.ts";

type Delivery = Schemas["Delivery"];
type Endpoint = Schemas["Endpoint"];
const SOON = 2000; // milliseconds after which what was sent is looked at again

const endpoints = new Resource<readonly Endpoint[]>(true);
const open = signal<number | null>(null); // the delivery whose payload and attempts are shown
const list = new Listing<Delivery>(
  "deliveries",
  [
    { name: "state", values: ["pending", "delivered", "dead"] },
    { name: "endpoint", choices: () => (endpoints.data.value ?? []).map(({ name }) => [name, name] as const) },
    { name: "event", values: delivered },
    { name: "project_id", pattern: ID },
  ],
  (wanted, signal) => ask(api.GET("/api/admin/webhooks/deliveries", { params: { query: { limit: 20, ...wanted } as Query<"/api/admin/webhooks/deliveries"> }, signal })),
);
onNewCaller(() => endpoints.clear());

const columns: Column<Delivery>[] = [
  { name: w.number, kind: "minor", text: (each) => each.id },
  { name: w.event, kind: "head", text: (each) => each.event, cell: (each) => w.values[each.event] ?? each.event },
  { name: w.endpoint, kind: "wrap", text: (each) => each.endpoint },
  {
    name: w.project, kind: "wrap", text: (each) => titleOf(each),
    cell: (each) => (each.project_id ? <a href={`/p/${each.project_id}/-`} dir="auto">{titleOf(each)}</a> : w.empty),
  },
  { name: w.state, text: (each) => each.state, cell: (each) => <span class={`badge ${each.state}`}>{w.values[each.state]}</span> },
  { name: w.lastAnswer, text: (each) => answerOf(each.attempts.at(-1)) },
  { name: w.attempts, kind: "number minor", text: (each) => each.attempts.length },
  { name: w.created, text: (each) => each.created_at, cell: (each) => <Time at={each.created_at} /> },
  { name: w.deliveredAt, kind: "file", text: (each) => each.delivered_at },
  { name: w.nextAttempt, kind: "file", text: (each) => each.next_attempt_at },
  { name: w.webhookId, kind: "file", text: (each) => each.webhook_id },
  { name: w.actions, kind: "unlabelled", cell: (each) => <Actions delivery={each} /> },
];

export const deliveries: Page = { enter: (_match, query) => enter(query), view: DeliveriesPage, title: () => w.pages["/admin/deliveries"] };

function enter(query: URLSearchParams): void {
  open.value = null;
  list.enter(query);
  afterSession(() => isAdministrator.peek() && loadEndpoints());
}

function loadEndpoints(): void {
  void endpoints.load("console endpoints", async (signal) => (await withSession(ask(api.GET("/api/admin/webhooks/endpoints", { signal })))).items);
}

function refresh(): void {
  void list.again();
  loadEndpoints();
}

/** What was sent shows at once, and again when it has most likely arrived. */
function refreshTwice(): void {
  refresh();
  const page = address.peek();
  setTimeout(() => address.peek() === page && user.peek() && refresh(), SOON);
}

function titleOf({ payload, project_id }: Delivery): string {
  const title = (payload as any)?.data?.project?.title;
  return project_id ? String(title ?? project_id) : "";
}

function answerOf(attempt: Schemas["Attempt"] | undefined): string {
  if (!attempt) return "";
  return attempt.status ? w.answered(attempt.status) : attempt.error ?? "";
}

/** The table waits for the endpoints: above it, they would push it down. */
function DeliveriesPage() {
  const known = endpoints.data.value ?? endpoints.problem.value;
  if (!known) return <Frame title={w.pages["/admin/deliveries"]}><Skeleton rows={3} /></Frame>;
  return (
    <Frame title={w.pages["/admin/deliveries"]}>
      <Endpoints />
      <Listed listing={list} columns={columns} keyOf={(each) => each.id} none={w.deliveriesNone} below={(each) => open.value === each.id && <Details delivery={each} />}>
        <button type="button" class="button small" onClick={refresh}>{w.refresh}</button>
      </Listed>
    </Frame>
  );
}

function Endpoints() {
  const found = endpoints.data.value ?? [];
  const problem = endpoints.problem.value;
  return (
    <section class="endpoints">
      <h2>{w.endpoints}</h2>
      {problem && !found.length ? <Failed problem={problem} again={loadEndpoints} />
        : found.length ? <ul>{found.map((each) => <EndpointItem key={each.name} endpoint={each} />)}</ul>
        : <p class="muted">{w.endpointsNone}</p>}
    </section>
  );
}

function EndpointItem({ endpoint: { name, host, format, events, deliveries: counts } }: { endpoint: Endpoint }) {
  return (
    <li>
      <span>
        <strong>{name}</strong>
        <span class="small muted">{[host, format, events.map((each) => w.values[each] ?? each).join(", ")].join(" · ")}</span>
        <span class="small">{(["pending", "delivered", "dead"] as const).map((each) => `${t.number(counts[each])} ${w.values[each]?.toLowerCase()}`).join(", ")}</span>
      </span>
      <button type="button" class="button small" aria-label={w.testOf(name)} disabled={readOnly.value || busy.value !== ""} onClick={() => test(name)}>{w.test}</button>
    </li>
  );
}

function Actions({ delivery: { id, state } }: { delivery: Delivery }) {
  const isOpen = open.value === id;
  return (
    <span class="acts">
      <button type="button" class="link" aria-expanded={isOpen} aria-label={w.detailsOf(id)} onClick={() => (open.value = isOpen ? null : id)}>{w.details}</button>
      {state !== "pending" && (
        <button type="button" class="link" aria-label={w.redeliverOf(id)} disabled={readOnly.value || busy.value !== ""} onClick={() => redeliver(id)}>{w.redeliver}</button>
      )}
    </span>
  );
}

function Details({ delivery: { webhook_id, attempts, payload, next_attempt_at, delivered_at } }: { delivery: Delivery }) {
  return (
    <div class="details">
      <p class="small muted">
        {w.webhookId}: <code>{webhook_id}</code>
        {delivered_at && <> · {w.deliveredAt}: <Time at={delivered_at} /></>}
        {next_attempt_at && <> · {w.nextAttempt}: <Time at={next_attempt_at} /></>}
      </p>
      <h3>{w.attempts}</h3>
      {attempts.length === 0 && <p class="muted">{w.noAttempts}</p>}
      <ol class="attempts">
        {attempts.map((each) => (
          <li key={each.at}>
            <Time at={each.at} /> <strong>{answerOf(each)}</strong> {w.milliseconds(each.milliseconds)}
            {each.response && <pre tabIndex={0}>{each.response}</pre>}
          </li>
        ))}
      </ol>
      <h3>{w.payload}</h3>
      <pre tabIndex={0}>{JSON.stringify(payload, null, 2)}</pre>
    </div>
  );
}

function test(endpoint: string): void {
  void act("test", async () => {
    const { id } = await ask(api.POST("/api/admin/webhooks/endpoints/{endpoint}/test", { params: { path: { endpoint } } }));
    say(w.tested(id));
    refreshTwice();
  });
}

function redeliver(id: number): void {
  void act("redeliver", async () => {
    await ask(api.POST("/api/admin/webhooks/deliveries/{delivery_id}/redeliver", { params: { path: { delivery_id: id } } }));
    say(w.redelivered(id));
    refreshTwice();
  });
}
