// Decisions: each waits some seconds for an undo, is sent with the versions that were seen, and has an outcome.
import { batch, effect, signal, untracked } from "@preact/signals";
import { api, ask, Problem, type Schemas } from "../api/client.ts";
import { added } from "../extras/extra.ts";
import { ended } from "../text.ts";
import { r } from "../console/review-text.ts";
import { nobody } from "../console/sentences.ts";
import { m } from "../console/team-text.ts";
import { ago } from "../parts/time.tsx";
import {
  changed, chosen, current, decided, drop, go, isOpen, itemOf, loadQueue, readAhead, rows, selected,
  waitingCount, without, type Item,
} from "./queue.ts";
import { isNarrow, PATH } from "./queue-address.ts";
import { type Batch, type Decision, type Explained, type Part, partsOf } from "./queue-parts.ts";
import { isMine, waitsForOthers } from "./queue-approvals.ts";
import { recount, replace, wasLive } from "./queue-record.ts";
import { deciders, type Decider } from "./queue-deciders.ts";
import { waits } from "./queue-story.ts";
import { address } from "./router.ts";
import { learn, onNewCaller, readOnly, user } from "./session.ts";

export interface Outcome {
  id: number;
  title: string;
  text: string;
  /** Whether it is as the reviewer wanted. */
  good: boolean;
}
export const ofConsole = /^\/api\/(admin|review)\//; // the addresses of its own data
export const WAIT = 5000; // milliseconds for an undo; a webhook cannot be called back
const SHOWN = 8000; // milliseconds for which what is said of an act stays
const MOST_OUTCOMES = 200;

export const waiting = signal<readonly Batch[]>([]);
export const onGone: ((ids: readonly number[]) => void)[] = []; // called with the items that are decided
export const sending = signal(0); // requests that are under way
export const outcomes = signal<readonly Outcome[]>([]); // newest first
export const told = signal({ text: "", bad: false, turn: 0 }); // what is said of the last act
export const approving = signal<readonly number[] | null>(null); // what is asked about before it is approved: it was live before, or has warnings
export const asking = signal<{ decision: Explained; ids: readonly number[] } | null>(null); // what the dialog asks a text for

onNewCaller(() => {
  for (const { timer } of waiting.peek()) clearTimeout(timer);
  batch(() => {
    waiting.value = outcomes.value = [];
    approving.value = asking.value = null;
    tell("");
  });
});
effect(() => {
  if (!address.value.pathname.startsWith(PATH)) untracked(() => void leave());
});
globalThis.addEventListener("pagehide", () => void leave());
// To sign out is to leave too: what waits is sent while the session holds. And a page that is opened shows what was decided.
const posted = new Set<Promise<unknown>>();
api.use({
  async onRequest({ request, schemaPath }) {
    if (schemaPath === "/api/auth/logout") await leave();
    if (request.method === "GET" && ofConsole.test(schemaPath)) await Promise.allSettled(posted);
  },
});

let telling: ReturnType<typeof setTimeout> | undefined;

export function tell(text: string, bad = false): void {
  clearTimeout(telling);
  if (text) telling = setTimeout(() => tell(""), SHOWN);
  told.value = { text, bad, turn: told.peek().turn + 1 };
}

/** Decide what is selected, or the item that is shown. */
export function decide(decision: Decision, ids: readonly number[] = chosen(), textOf: Batch["textOf"] = () => ""): void {
  if (readOnly.peek()) return tell(r.readOnly, true);
  const open = ids.flatMap((id) => (decided.peek().has(id) ? [] : itemOf(id) ?? [])).filter(waits);
  const items = decision === "approve" ? open.filter((each) => !isMine(each)) : open;
  const [first] = items;
  if (!first) return open[0] && tell(m.waitsForAnother(open[0].title));
  const made: Batch = { decision, items, textOf, timer: undefined };
  made.timer = setTimeout(() => void send([made]), WAIT);
  const next = after(items.map((each) => each.id));
  batch(() => {
    const gone = items.map((each) => each.id);
    decided.value = new Set([...decided.peek(), ...gone]);
    selected.value = without(selected.peek(), gone);
    changed.value = new Map([...changed.peek()].filter(([id]) => !gone.includes(id)));
    waiting.value = [...waiting.peek(), made];
    if (gone.includes(current.peek())) go(next);
    tell(decision === "approve" && items.every(waitsForOthers) ? m.approvedOf(first, items.length - 1)
      : `${r.decided(decision, first.title, items.length - 1)} ${r.left(waitingCount.peek())}`);
  });
  readAhead();
}

/** The row that is shown once some are gone: the next one that stays, or the one before. */
function after(gone: readonly number[]): number {
  const list = rows.peek();
  const place = list.findIndex((each) => each.id === current.peek());
  const stays = (each: Item) => !gone.includes(each.id);
  return (list.slice(place + 1).find(stays) ?? list.slice(0, Math.max(0, place)).reverse().find(stays) ?? list.find(stays))?.id ?? 0;
}

/** Approve; what was live before, and so was taken down or changed, or has warnings only once it was asked about. */
export function approve(ids: readonly number[] = chosen()): void {
  const isAsked = (each: Item | undefined) => each && !isMine(each) && (wasLive(each) || each.warnings.length > 0);
  if (readOnly.peek() || !ids.some((id) => isAsked(itemOf(id)))) return decide("approve", ids);
  approving.value = ids;
}

/** Approve what was asked about. */
export function confirmApproval(): void {
  const ids = approving.peek();
  if (!ids) return;
  batch(() => {
    approving.value = null;
    decide("approve", ids);
  });
}

/** Ask for the text of a decision. */
export function askReason(decision: Explained, ids: readonly number[] = chosen()): void {
  if (readOnly.peek()) return tell(r.readOnly, true);
  const open = ids.filter((id) => waits(itemOf(id) ?? {}));
  if (open.length) asking.value = { decision, ids: open };
}

/** Take back the last decision that was not sent yet. */
export function undo(): void {
  const last = waiting.peek().at(-1);
  if (!last) return tell(r.nothingToUndo);
  clearTimeout(last.timer);
  const ids = last.items.map((each) => each.id);
  const [first] = last.items as [Item];
  batch(() => {
    waiting.value = waiting.peek().filter((each) => each !== last);
    decided.value = without(decided.peek(), ids);
    if (ids.length > 1) selected.value = new Set([...selected.peek(), ...ids]);
    go(first.id);
    tell(r.undone(first.title, ids.length - 1));
  });
}

/** Send at once what waits: the page is left. */
async function leave(): Promise<void> {
  approving.value = asking.value = null;
  if (waiting.peek().length) await send(waiting.peek());
}

/** All requests leave at once: the page may be closed before an answer is there. */
async function send(made: readonly Batch[]): Promise<void> {
  for (const { timer } of made) clearTimeout(timer);
  batch(() => {
    waiting.value = waiting.peek().filter((each) => !made.includes(each));
    sending.value++;
  });
  try {
    for (const found of await Promise.all(partsOf(made).map(sendPart))) settle(found);
  } finally {
    sending.value--;
  }
  if (isOpen() && !rows.peek().length && !waiting.peek().length && !sending.peek() && user.peek()) void loadQueue();
}

interface Settled {
  outcomes: Outcome[];
  /** What waits no longer, what waits as before, and what waits with another version. */
  gone: number[];
  /** The owners of what was decided as the reviewer wanted, with the state that it has now. */
  done: { owner: number; state: "live" | "rejected" }[];
  back: number[];
  fresh: Schemas["ReviewedProject"][];
  /** What is said of an approval that another person has to follow. */
  kept: string;
}

async function sendPart({ decision, text, items }: Part): Promise<Settled> {
  const settled: Settled = { outcomes: [], gone: [], done: [], back: [], fresh: [], kept: "" };
  const given = text && (decision === "request_changes" ? { message: text } : { reason: text });
  const body = { decision, items: items.map(({ id, version }) => ({ id, version })), ...given };
  try {
    const answer = await post(body);
    const edits = items.filter((each) => each.status === "live").map((each) => each.id);
    const first = await deciders(answer.items, decision, edits);
    answer.items.forEach((each, place) => judge(items[place] as Item, each, decision, first.get(each.id), settled));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    learn(error);
    for (const each of items) note(settled, each, r.outcome.failed(error.detail));
    settled.back = items.map((each) => each.id);
  }
  return settled;
}

function post(body: Schemas["ReviewDecisionsInput"]): Promise<Schemas["DecisionList"]> {
  const answer = ask(api.POST("/api/review/projects/decisions", { body, keepalive: true }));
  posted.add(answer);
  return answer.finally(() => posted.delete(answer));
}

/** What an answer about one item means. */
function judge(item: Item, answer: Schemas["Decision"], decision: Decision, decider: Decider | undefined, settled: Settled): void {
  const { id, status, project } = answer;
  if (status === 202 && project?.approvals) {
    const { given, required } = project.approvals;
    settled.fresh.push({ ...project, ...added.claims?.of() }); // an approval ends the claim
    settled.kept = m.kept(item.title, given.length, required);
    return note(settled, item, m.given(given.length, required, []), true);
  }
  if (status === 412 && project && waits(project)) {
    settled.fresh.push({ ...project, ...added.claims?.of() }); // and so does an edit
    return note(settled, item, r.outcome.changed);
  }
  if (answer.code === "duplicate") {
    settled.back.push(id);
    return note(settled, item, r.outcome.duplicate);
  }
  settled.gone.push(id);
  if (status === 404) return note(settled, item, r.outcome.gone);
  const isOwn = decider?.actor?.id === user.peek()?.id;
  if (status === 200 && item.status === "pending" && decision !== "request_changes" && (isOwn || !decider)) settled.done.push({ owner: item.owner.id, state: decision === "approve" ? "live" : "rejected" });
  if (status === 200 && (isOwn || !decider)) return note(settled, item, r.outcome.done(decision), true);
  note(settled, item, decider ? r.outcome.first(decider.actor?.username ?? nobody(decider), decider.action, ago(decider.at)) : r.outcome.firstUnknown);
}

function note(settled: Settled, { id, title }: Item, text: string, good = false): void {
  settled.outcomes.push({ id, title, text, good });
}

/** Show the outcomes. What was not decided is back in the list, as it is now. */
function settle({ outcomes: found, gone, done, back, fresh, kept }: Settled): void {
  batch(() => {
    const returned = [...back, ...fresh.map((each) => each.id)];
    outcomes.value = [...found, ...outcomes.peek()].slice(0, MOST_OUTCOMES);
    for (const each of fresh) replace(each);
    drop(gone);
    for (const each of onGone) each(gone);
    recount(done);
    decided.value = without(decided.peek(), returned);
    if (isOpen() && !isNarrow() && !current.peek()) go(rows.peek()[0]?.id ?? 0);
    const bad = found.filter((each) => !each.good);
    if (bad.length === 1) tell(ended(`${bad[0]?.title}: ${bad[0]?.text}`), true);
    else if (bad.length) tell(r.notDecided(bad.length), true);
    else if (!waiting.peek().length && !told.peek().bad) tell(kept);
  });
}
