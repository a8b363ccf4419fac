// The state of the review queue without a browser: keys, decisions with their undo, outcomes, and what changed.
import { assertEquals, deferred, type Deferred, elapse as elapseOf, pauses, reset, server, turns, until } from "./support.ts";

const [UNDO, REST] = [5000, 150]; // milliseconds: before a decision is sent, and before a row's history is read
const elapse = () => elapseOf(UNDO);

const queue = await import("../src/state/queue.ts");
const decisions = await import("../src/state/queue-decisions.ts");
const { history, showNew, story } = await import("../src/state/queue-history.ts");
const { help, onKey } = await import("../src/state/queue-keys.ts");
const { diff, shortened } = await import("../src/state/queue-diff.ts");
const { changesOf, differences, storyOf } = await import("../src/state/queue-story.ts");
const { confirmReason, reason, unexplained, write } = await import("../src/state/queue-reason.ts");
const { addressOfLane, isInLane, laneOf, LANES } = await import("../src/state/queue-address.ts");
const { marked } = await import("../src/state/lookalikes.ts");
const { readAgain } = await import("../src/state/queue-refresh.ts");
const { api } = await import("../src/api/client.ts");
const { ago } = await import("../src/parts/time.tsx");
const { loadSession, renew, session, signOut } = await import("../src/state/session.ts");
const { address, navigate, start } = await import("../src/state/router.ts");
const { r } = await import("../src/console/review-text.ts");
const { added } = await import("../src/extras/extra.ts");

type Lane = keyof typeof LANES;

const GRACE = { id: 1, username: "grace", role: "admin", is_admin: true, permissions: ["review", "administer"] };
const SITE = { site: { name: "Ours", url: "" }, registration_open: true, read_only: false, password_reset: false, providers: [] };
const view = () => null;
const other = { view, title: () => "" };
const page = { ...other, enter: ([id = "0"]: string[]) => queue.enterQueue(Number(id)) };
const POST = "POST /api/review/projects/decisions";

const REPLIES = [1, 2, 3].map((id) => ({ id, name: `Reply ${id}`, decision: "reject", text: `Reason ${id}` }));
let replies = REPLIES;
added.saved = {
  title: "Saved replies", load: () => Promise.resolve(), of: (decision) => replies.filter((each) => each.decision === decision),
  filled: (text, { title, owner }) => text.replace("{title}", title).replace("{owner}", owner.username), Menu: view,
};

interface Sent {
  decision: string;
  items: { id: number; version: number }[];
  reason?: string;
  message?: string;
}
const sent: Sent[] = [];

function item(id: number, version = 1, fields: { status?: string; revision?: object; [name: string]: unknown } = {}) {
  const at = "2026-11-20T10:00:00.000000Z";
  const isOver = fields.status && fields.status !== "pending" && !fields.revision;
  const review = isOver ? null : { waiting_for: "review", since: at, closes_at: null, held: false, asked: null };
  return {
    id, version, slug: `p${id}`, title: `Project ${id}`, tagline: "", description: "", url: `https://example.org/${id}`, status: "pending",
    owner: { id: 9, username: "ada" }, category: { slug: "tools", name: "Tools" }, tags: [], submitted_at: at, updated_at: at,
    owner_stats: { live: 0, pending: 1, rejected: 0 }, earlier: 0, review, warnings: [], resembles: { lookalike_title: null, same_repository: null }, ...fields,
  };
}

function entry(project_id: number, action: string, fields: object = {}): any {
  return { id: 1, action, at: "2026-11-19T10:00:00.000000Z", actor: GRACE, project_id, project: { id: project_id, title: `Project ${project_id}` }, reason: null, changes: null, ...fields };
}

/** Be an administrator at the queue with this many items. */
async function atQueue(count: number, readOnly = false) {
  if (address.peek().pathname !== "/") navigate("/");
  await elapse();
  reset();
  sent.length = 0;
  replies = REPLIES;
  server.on("GET /api/session", () => ({ ...SITE, read_only: readOnly, user: GRACE }));
  server.on("GET /api/review/projects", () => server.page(Array.from({ length: count }, (_, place) => item(place + 1))));
  for (let id = 1; id <= count; id++) {
    server.on(`GET /api/review/projects/${id}/history`, () => server.page([entry(id, "project.submitted")]));
    server.on(`GET /api/review/projects/${id}/messages`, () => server.page([]));
  }
  server.on("GET /api/admin/audit", (request) => {
    const asked = new URL(request.url).searchParams;
    const ids = asked.has("project_id") ? [Number(asked.get("project_id"))] : sent.flatMap((each) => each.items.map(({ id }) => id));
    return server.page(ids.map((id) => entry(id, asked.get("action") ?? "project.approved")));
  });
  server.on(POST, async (request) => {
    const body: Sent = await request.json();
    sent.push(body);
    return { items: body.items.map(({ id, version }) => ({ id, status: 200, project: item(id, version + 1) })) };
  });
  start([{ pattern: /^\/(admin)?$/, page: other }, { pattern: /^\/admin\/queue$/, page }, { pattern: /^\/admin\/queue\/(\d+)$/, page }]);
  await renew();
  navigate("/admin/queue");
  await server.idle();
}

function press(...keys: string[]): void {
  for (const key of keys) hit({ key });
}

function hit(fields: object): void {
  const event = { key: "", target: null, timeStamp: 0, repeat: false, shiftKey: false, preventDefault() {}, ...fields };
  onKey(event as unknown as KeyboardEvent);
}

const ids = () => queue.rows.value.map((each) => each.id);

Deno.test("the first item is shown, and j and k go down and up to the ends", async () => {
  await atQueue(3);
  assertEquals([ids(), queue.current.value], [[1, 2, 3], 1]);
  press("k", "j", "j", "j", "k");
  assertEquals(queue.current.value, 2);
});

Deno.test("keys without a pause act on the right rows", async () => {
  await atQueue(10);
  press("a", "r", "1", "Enter", "j", "a", "a", "x", "j", "j", "x", "a", "k", "r", "Enter", "Enter", "a", "a", "a", "a");
  await elapse();
  const found = Object.fromEntries(sent.flatMap((each) => each.items.map(({ id }) => [id, each.decision])));
  assertEquals(found, { 1: "approve", 2: "reject", 3: "approve", 4: "approve", 5: "approve", 6: "approve", 7: "reject", 8: "approve", 9: "approve", 10: "approve" });
});

Deno.test("an order of keys means the same however fast", async () => {
  await atQueue(4);
  press("j", "a", "r", "2", "Enter");
  await elapse();
  assertEquals(sent, [
    { decision: "approve", items: [{ id: 2, version: 1 }] },
    { decision: "reject", items: [{ id: 3, version: 1 }], reason: REPLIES[1]?.text },
  ]);
  assertEquals([ids(), queue.current.value, reason.value], [[1, 4], 4, ""]);
});

Deno.test("a key that is held down or has a modifier never decides", async () => {
  await atQueue(3);
  for (const fields of [{ repeat: true }, { ctrlKey: true }, { metaKey: true }, { altKey: true }, { shiftKey: true }, { isComposing: true }]) {
    for (const key of ["a", "r", "u"]) hit({ key, ...fields });
  }
  for (const tag of ["textarea", "input"]) hit({ key: "a", target: { closest: (wanted: string) => wanted.includes(tag) || null } });
  assertEquals([decisions.waiting.value.length, decisions.asking.value, ids()], [0, null, [1, 2, 3]]);
  hit({ key: "j", repeat: true });
  assertEquals(queue.current.value, 2);
  press("r");
  hit({ key: "Enter", repeat: true });
  assertEquals([decisions.waiting.value.length, decisions.asking.value?.ids], [0, [2]]);
  press("Escape");
  assertEquals(decisions.asking.value, null);
});

Deno.test("a decision waits, and until it is sent it can be undone", async () => {
  await atQueue(3);
  press("a", "a");
  assertEquals([ids(), decisions.told.value.text], [[3], "Approved Project 2. 1 left."]);
  press("u");
  assertEquals([ids(), queue.current.value, decisions.told.value.text], [[2, 3], 2, "Project 2 returned to the queue."]);
  await elapse();
  assertEquals(sent, [{ decision: "approve", items: [{ id: 1, version: 1 }] }]);
  press("u");
  assertEquals(decisions.told.value.text, r.nothingToUndo);
  assertEquals(decisions.outcomes.value.map((each) => [each.id, each.text, each.good]), [[1, "Approved", true]]);
});

Deno.test("a page that is left sends at once what waits, alike decisions together", async () => {
  await atQueue(4);
  press("a", "r", "1", "Enter", "a");
  navigate("/admin");
  await server.idle();
  assertEquals(sent.map((each) => [each.decision, each.items.map(({ id }) => id)]), [["approve", [1, 3]], ["reject", [2]]]);
  assertEquals(pauses(UNDO), 0);
  navigate("/admin/queue");
  await server.idle();
  press("a");
  globalThis.dispatchEvent(new Event("pagehide"));
  await server.idle();
  assertEquals(sent.length, 3);
});

Deno.test("a page that is opened reads once what was decided before is answered", async () => {
  await atQueue(2);
  const answer: Deferred<object> = deferred();
  server.on(POST, () => answer.promise);
  press("a");
  navigate("/admin");
  server.calls.length = 0;
  const read = queue.loadQueue();
  await turns();
  assertEquals(server.calls.filter((call) => call.startsWith("GET /api/review/projects")), []);
  answer.resolve({ items: [{ id: 1, status: 200, project: item(1, 2) }] });
  await read;
  assertEquals(server.calls.includes("GET /api/review/projects"), true);
  await server.idle();
});

Deno.test("moving within the queue is not leaving it", async () => {
  await atQueue(2);
  press("a");
  navigate("/admin/queue/2");
  await server.idle();
  assertEquals([sent.length, queue.current.value, server.calls.filter((call) => call === "GET /api/review/projects").length], [0, 2, 1]);
});

Deno.test("what was changed after the look is not decided, and comes back as it is now", async () => {
  await atQueue(3);
  server.on(POST, () => ({ items: [{ id: 1, status: 412, code: "precondition_failed", project: item(1, 2, { title: "Renamed" }) }] }));
  press("a");
  await elapse();
  assertEquals([ids(), queue.itemOf(1)?.title, queue.itemOf(1)?.version], [[1, 2, 3], "Renamed", 2]);
  assertEquals(differences(queue.changed.value.get(1)!, queue.itemOf(1)!), [{ field: "title", from: "Project 1", to: "Renamed" }]);
  assertEquals([queue.current.value, decisions.told.value.bad, decisions.outcomes.value[0]?.text], [2, true, r.outcome.changed]);
  server.on(POST, async (request) => (sent.push(await request.json()), { items: [{ id: 1, status: 200, project: item(1, 3) }] }));
  press("k", "a");
  await elapse();
  assertEquals([sent[0]?.items, queue.changed.value.size], [[{ id: 1, version: 2 }], 0]);
});

Deno.test("a list that is read again does not change what is looked at", async () => {
  await atQueue(2);
  server.on("GET /api/review/projects", () => server.page([item(1, 2, { title: "Renamed" }), item(2, 5)]));
  await queue.loadQueue();
  assertEquals([queue.item.value?.title, queue.itemOf(2)?.version], ["Project 1", 5]);
  press("a");
  await elapse();
  assertEquals(sent[0]?.items, [{ id: 1, version: 1 }]);
});

Deno.test("of two reviewers the second sees who was first, also where both want the same", async () => {
  await atQueue(3);
  const theirs = { actor: { id: 2, username: "linus" }, at: new Date().toISOString() };
  server.on("GET /api/review/projects/1/history", () => server.page([entry(1, "project.approved", theirs)]));
  server.on("GET /api/review/projects/2/history", () => server.page([entry(2, "project.rejected", theirs)]));
  press("a");
  await elapse();
  assertEquals(decisions.outcomes.value[0]?.text, "linus approved it first, just now");
  server.on(POST, () => ({ items: [{ id: 2, status: 412, code: "precondition_failed", project: item(2, 2, { status: "rejected" }) }] }));
  press("a");
  await elapse();
  assertEquals([decisions.outcomes.value[0]?.text, ids()], ["linus rejected it first, just now", [3]]);
});

Deno.test("a decision about many has an outcome for each", async () => {
  await atQueue(6);
  server.on(POST, async (request) => {
    sent.push(await request.json());
    return {
      items: [
        { id: 1, status: 200, project: item(1, 2) }, { id: 2, status: 412, code: "precondition_failed", project: item(2, 9) },
        { id: 3, status: 404, code: "not_found" }, { id: 4, status: 412, code: "precondition_failed", project: item(4, 2, { status: "live" }) },
      ],
    };
  });
  server.on("GET /api/admin/audit", () => server.page([entry(1, "project.rejected")]));
  server.on("GET /api/review/projects/4/history", () => server.page([entry(4, "project.approved", { actor: { id: 2, username: "linus" } })]));
  press("x", "j", "j", "j");
  hit({ key: "X", shiftKey: true });
  assertEquals([...queue.selected.value], [1, 2, 3, 4]);
  press("r", "2", "Enter");
  assertEquals([ids(), queue.current.value, decisions.told.value.text], [[5, 6], 5, "Rejected 4 submissions. 2 left."]);
  await elapse();
  assertEquals(sent[0]?.items.map(({ id }) => id), [1, 2, 3, 4]);
  const texts = decisions.outcomes.value.map((each) => [each.id, each.text.replace(/,.*/, "")]);
  assertEquals(texts, [[1, "Rejected"], [2, r.outcome.changed], [3, r.outcome.gone], [4, "linus approved it first"]]);
  assertEquals([ids(), queue.waitingCount.value, decisions.told.value.text], [[2, 5, 6], 3, "3 submissions not decided."]);
});

Deno.test("more than a hundred go in several requests", async () => {
  await atQueue(120);
  queue.selectAll();
  press("a");
  await elapse();
  assertEquals(sent.map((each) => each.items.length).sort(), [100, 20]);
});

Deno.test("what could not be sent is back with the reason, and can be decided again", async () => {
  await atQueue(2);
  server.on(POST, () => server.problem(429, "rate_limited", "Try again in 7 seconds."));
  press("a");
  await elapse();
  assertEquals([ids(), decisions.outcomes.value[0]?.text], [[1, 2], "Not decided: Try again in 7 seconds."]);
  server.on(POST, () => server.problem(503, "read_only", "No writes at present."));
  press("a");
  await elapse();
  assertEquals([session.value?.read_only, ids().length], [true, 2]);
});

Deno.test("in read-only mode nothing is decided, and it says so", async () => {
  await atQueue(2, true);
  press("a", "r");
  assertEquals([ids(), decisions.asking.value, decisions.told.value.text], [[1, 2], null, r.readOnly]);
});

Deno.test("an emptied queue is read again", async () => {
  await atQueue(1);
  press("a");
  server.on("GET /api/review/projects", () => server.page([item(7)]));
  await elapse();
  assertEquals([ids(), queue.current.value], [[7], 7]);
});

Deno.test("rows are read ahead before the last one is reached", async () => {
  await atQueue(12);
  server.on("GET /api/review/projects", (request) => {
    const next = new URL(request.url).searchParams.get("cursor");
    return { items: next ? [item(12), item(13)] : [item(1), item(12)], pagination: { total: 3, total_capped: false, next_cursor: next ? null : "two" } };
  });
  await queue.loadQueue();
  press("j");
  await server.idle();
  assertEquals(ids(), [1, 12, 13]);
});

Deno.test("signing out sends what waits while the session holds, and another caller sends nothing", async () => {
  await atQueue(3);
  server.on("POST /api/auth/logout", () => (sent.push({ decision: "signed out", items: [] }), new Response(null, { status: 204 })));
  press("a");
  await signOut();
  assertEquals(sent.map((each) => each.decision), ["approve", "signed out"]);
  await atQueue(2);
  press("a");
  await renew();
  await elapse();
  assertEquals([sent.length, ids()], [0, [1, 2]]);
});

Deno.test("an answer that comes after the page was left leaves the new page alone", async () => {
  await atQueue(1);
  const answer: Deferred<object> = deferred();
  server.on(POST, () => answer.promise);
  press("a");
  navigate("/admin");
  answer.resolve({ items: [{ id: 1, status: 412, code: "precondition_failed", project: item(1, 2) }] });
  await server.idle();
  assertEquals(address.value.pathname, "/admin");
});

Deno.test("an address of an item that is not in the list shows it as it is", async () => {
  await atQueue(2);
  server.on("GET /api/review/projects/50", () => item(50, 3, { status: "live", owner_stats: { live: 4, pending: 0, rejected: 2 } }));
  server.on("GET /api/review/projects/50/history", () => server.page([entry(50, "project.approved")]));
  navigate("/admin/queue/50");
  await server.idle();
  assertEquals([queue.item.value?.status, queue.item.value?.owner_stats.live], ["live", 4]);
  press("a");
  assertEquals(decisions.waiting.value.length, 0);
  press("j");
  assertEquals(queue.current.value, 1);
});

Deno.test("an item that is not in the list is decided, and shown again when that is undone", async () => {
  await atQueue(2);
  server.on("GET /api/review/projects/50", () => item(50, 3));
  server.on("GET /api/review/projects/50/history", () => server.page([entry(50, "project.submitted")]));
  navigate("/admin/queue/50");
  await server.idle();
  press("a");
  assertEquals([queue.current.value, decisions.waiting.value.length], [1, 1]);
  press("u");
  await server.idle();
  assertEquals(queue.item.value?.id, 50);
  press("a");
  await elapse();
  assertEquals([sent[0]?.items, decisions.outcomes.value[0]?.title], [[{ id: 50, version: 3 }], "Project 50"]);
});

Deno.test("g and a second key go to other pages, and ? explains the keys", async () => {
  await atQueue(2);
  press("?");
  assertEquals(help.value, true);
  press("?", "g", "d");
  assertEquals([address.value.pathname, help.value], ["/admin", false]);
  press("a", "g", "q");
  assertEquals([address.value.pathname, decisions.waiting.value.length], ["/admin/queue", 0]);
  hit({ key: "g", timeStamp: 1 });
  hit({ key: "d", timeStamp: 5000 });
  assertEquals(address.value.pathname, "/admin/queue");
});

Deno.test("Escape clears the selection, and x selects and unselects", async () => {
  await atQueue(3);
  press("x", "j", "x", "x", "j", "x");
  assertEquals([...queue.selected.value], [1, 3]);
  press("Escape");
  assertEquals(queue.selected.value.size, 0);
});

Deno.test("the history is read once a row is rested on, and tells of later versions", async () => {
  await atQueue(3);
  const edit = entry(2, "project.edited", { at: "2026-11-21T10:00:00.000000Z", changes: { title: { from: "A", to: "B" } } });
  server.on("GET /api/review/projects/2/history", () => server.page([edit, entry(2, "project.rejected", { reason: "No." }), entry(2, "project.submitted")]));
  await elapseOf(REST);
  server.calls.length = 0;
  press("j", "j", "k");
  await elapseOf(REST);
  assertEquals(server.calls.filter((call) => call.includes("history")), ["GET /api/review/projects/2/history"]);
  assertEquals([story.value?.decided?.reason, story.value?.changes, story.value?.later?.action], ["No.", [{ field: "title", from: "A", to: "B" }], "project.edited"]);
  assertEquals(address.value.pathname, "/admin/queue/2");
  server.on("GET /api/review/projects/2", () => item(2, 2, { title: "B", updated_at: edit.at }));
  await showNew();
  assertEquals([queue.item.value?.version, story.value?.later], [2, null]);
  history.clear();
});

Deno.test("changes since the last review are put together, and what ended as it began is none", () => {
  const change = (from: unknown, to: unknown) => ({ from, to });
  const edits = [
    entry(1, "project.edited", { changes: { title: change("B", "C"), url: change("y", "x"), tags: change(["a"], ["a", "b"]) } }),
    entry(1, "project.edited", { changes: { title: change("A", "B"), url: change("x", "y"), repository_url: change(null, "z") } }),
  ];
  assertEquals(changesOf(edits), [
    { field: "title", from: "A", to: "C" }, { field: "repository_url", from: "", to: "z" }, { field: "tags", from: "a", to: "a, b" },
  ]);
  const shown = { id: 1, status: "rejected" as const, updated_at: "2026-11-19T10:00:00.000000Z", revision: null, review: null };
  const told = storyOf([...edits, entry(1, "project.rejected"), entry(4, "project.deleted"), entry(1, "project.edited"), entry(3, "project.edited"),
    entry(3, "project.rejected", { reason: "Spam" }), entry(4, "project.submitted")], shown);
  assertEquals([told.changes.length, told.later, told.own.length], [3, null, 4]);
  assertEquals(told.others.map((each) => [each.id, each.last.action]), [[4, "project.deleted"], [3, "project.rejected"]]);
  assertEquals(storyOf(edits, shown).changes, [], "never reviewed: nothing changed since");
});

Deno.test("a rule has rejected it as long as nobody has decided, edited or appealed since", () => {
  const by = { actor: null, rule_id: 7 };
  const is = (shown: object, ...entries: object[]) => storyOf(entries as any, item(1, 2, shown as any) as any).isRejectedByRule;
  const changed = { status: "live", revision: { submitted_at: null, changes: {}, rejected: { title: "B" } } };
  const [rejected, ofChanges] = [entry(1, "project.rejected", by), entry(1, "project.edit_rejected", by)];
  assertEquals([is({ status: "rejected" }, rejected), is(changed, ofChanges, entry(1, "project.edit_held"))], [true, true]);
  assertEquals(is({ status: "rejected" }, entry(1, "project.reported"), rejected), true, "it stays so");
  assertEquals(is({ status: "rejected" }, entry(1, "project.rejected"), rejected), false, "a person decided");
  for (const since of ["project.appealed", "project.appeal_upheld", "project.edited"]) {
    assertEquals(is({ status: "rejected" }, entry(1, since), rejected), false, since);
  }
  assertEquals([is({}, rejected), is({ status: "live" }, ofChanges)], [false, false], "what waits, and what is live without changes");
});

Deno.test("words that differ are found, and both texts can be made of the parts", () => {
  const kinds = (from: string, to: string) => diff(from, to).map((part) => `${part.kind}:${part.text}`);
  assertEquals(kinds("the quick fox", "the slow fox"), ["same:the ", "gone:quick", "new:slow", "same: fox"]);
  assertEquals(kinds("the quick brown fox", "the slow red fox"), ["same:the ", "gone:quick brown", "new:slow red", "same: fox"]);
  assertEquals(kinds("", "new"), ["new:new"]);
  assertEquals(kinds("gone", ""), ["gone:gone"]);
  assertEquals(kinds("same", "same"), ["same:same"]);
  assertEquals(kinds("https://a.example/x", "https://b.example/x"), ["same:https://", "gone:a", "new:b", "same:.example/x"]);
  const words = ["a", "b", "c ", " ", "d.", "e\n", "f"];
  for (let seed = 1; seed < 400; seed++) {
    const make = (turn: number) => Array.from({ length: (seed * turn) % 13 }, (_, place) => words[(seed * (place + turn) * 7 + place * place) % words.length]).join("");
    const [from, to] = [make(3), make(5)];
    const parts = diff(from, to);
    assertEquals(parts.filter((part) => part.kind !== "new").map((part) => part.text).join(""), from);
    assertEquals(parts.filter((part) => part.kind !== "gone").map((part) => part.text).join(""), to);
  }
});

Deno.test("a text that is another one altogether is shown after the old one, at once", () => {
  const text = (word: string) => Array.from({ length: 3000 }, (_, place) => `${word}${place}`).join(" ");
  assertEquals(diff(text("a"), text("b")).map((part) => part.kind), ["gone", "new"]);
  assertEquals(diff("x".repeat(10_000), "y".repeat(10_000)).map((part) => part.kind), ["gone", "new"]);
});

Deno.test("long stretches without a change are cut to what stands next to one", () => {
  const long = "word ".repeat(100);
  const [first, , , last] = shortened(diff(`${long}old ${long}`, `${long}new ${long}`));
  assertEquals([first?.text.startsWith(" … "), last?.text.endsWith(" … "), (first?.text.length ?? 0) < 100], [true, true, true]);
});

Deno.test("a visitor and a member ask for nothing", async () => {
  await atQueue(1);
  for (const user of [null, { ...GRACE, permissions: [] }]) {
    navigate("/");
    server.on("GET /api/session", () => ({ ...SITE, user }));
    await loadSession();
    await server.idle(); // a read of the administrator's may still be on its way
    server.calls.length = 0;
    navigate("/admin/queue");
    press("a", "j", "r");
    await server.idle();
    assertEquals(server.calls.filter((call) => call.includes("/admin/")), []);
  }
});

Deno.test("keys mean the same on a layout of another script", async () => {
  await atQueue(3);
  hit({ key: "о", code: "KeyJ" });
  assertEquals(queue.current.value, 2);
  hit({ key: "ф", code: "KeyA" });
  assertEquals(ids(), [1, 3]);
  hit({ key: "a", code: "KeyQ" }); // a Latin layout says itself which letter it is
  assertEquals(ids(), [1]);
  hit({ key: "ö", code: "KeyX" });
  hit({ key: "a", getModifierState: (name: string) => name === "AltGraph" });
  assertEquals([ids(), queue.selected.value.size], [[1], 0]);
  hit({ key: "ד", code: "KeyS" });
  for (const [g, q] of [["ע", "/"], ["γ", ";"], ["ل", "ض"]]) { // Hebrew, Greek and Arabic
    navigate("/admin");
    hit({ key: g, code: "KeyG" });
    hit({ key: q, code: "KeyQ" });
    assertEquals(address.value.pathname.slice(0, 12), "/admin/queue", g);
  }
  hit({ key: "؟", code: "Slash", shiftKey: true });
  assertEquals(help.value, true);
  hit({ key: "?", shiftKey: true });
});

Deno.test("a digit takes a reason also where it is typed with Shift, or is of another script", async () => {
  await atQueue(1);
  press("r");
  hit({ key: "!", code: "Digit1", shiftKey: true });
  assertEquals(reason.value, "");
  for (const [place, fields] of [{ key: "1", code: "Digit1", shiftKey: true }, { key: "é", code: "Digit2" }, { key: "\u0663", code: "Digit3" }].entries()) {
    hit(fields);
    assertEquals(reason.value, REPLIES[place]?.text);
  }
  press("Escape");
});

Deno.test("a saved reply is filled in for each item, and without a selection the one that is shown is asked about", async () => {
  await atQueue(4);
  replies = [{ id: 1, name: "Ask", decision: "request_changes", text: "Dear {owner} of {title}: {why}?" }];
  press("x", "j", "x", "e", "Enter");
  assertEquals([decisions.asking.value?.decision, unexplained.value], ["request_changes", true]);
  press("1");
  assertEquals(reason.value, "Dear {owner} of {title}: {why}?");
  press("Enter", "x", "e", "1"); // with one selected item the text is filled in at once
  assertEquals(reason.value, "Dear ada of Project 3: {why}?");
  press("Enter");
  await elapse();
  assertEquals(sent.map(({ decision, message, items }) => [decision, message, items.map(({ id }) => id)]), [1, 2, 3].map((id) =>
    ["request_changes", `Dear ada of Project ${id}: {why}?`, [id]]));
  press("e"); // without a selection it is about the one that is shown
  assertEquals([decisions.asking.value?.ids, reason.value], [[4], ""]);
});

Deno.test("a rejection without a reason asks once", async () => {
  await atQueue(3);
  press("r", "Enter");
  assertEquals([decisions.asking.value?.ids, unexplained.value, ids()], [[1], true, [1, 2, 3]]);
  press("Enter");
  assertEquals([decisions.asking.value, unexplained.value, ids()], [null, false, [2, 3]]);
  press("r", "1", "Enter");
  assertEquals(ids(), [3]);
});

Deno.test("what was live before is approved only once it was asked about", async () => {
  await atQueue(3);
  queue.queue.set({ ...queue.queue.data.value!, items: [item(1, 2, { published_at: "2026-11-01T10:00:00Z" }), item(2), item(3)] as any });
  press("a", "a", "a");
  assertEquals([decisions.approving.value, ids()], [[1], [1, 2, 3]]);
  press("Escape");
  assertEquals([decisions.approving.value, ids()], [null, [1, 2, 3]]);
  press("a", "Enter");
  assertEquals([decisions.approving.value, ids()], [null, [2, 3]]);
  press("a");
  assertEquals([decisions.approving.value, ids()], [null, [3]]);
});

Deno.test("what an owner is asked to change is there again after an undo, and for no other item", async () => {
  await atQueue(2);
  press("e");
  write("Say how to try it.");
  confirmReason();
  press("u", "e");
  assertEquals([decisions.asking.value?.ids, reason.value], [[1], "Say how to try it."]);
  press("Escape", "j", "e");
  assertEquals([decisions.asking.value?.ids, reason.value], [[2], ""]);
  press("Escape", "k", "e", "Enter");
  await elapse();
  assertEquals(sent.map(({ decision, message }) => [decision, message]), [["request_changes", "Say how to try it."]]);
});

Deno.test("what has any warning is approved only once it was asked about, and only once", async () => {
  for (const warning of ["lookalike_title", "same_repository", "owner_suspended", "rule:Two links"]) {
    await atQueue(3);
    queue.queue.set({ ...queue.queue.data.value!, items: [item(1, 2, { warnings: [warning] }), item(2), item(3)] as any });
    press("a", "a");
    assertEquals([decisions.approving.value, ids()], [[1], [1, 2, 3]], warning);
    press("Enter");
    assertEquals([decisions.approving.value, ids()], [null, [2, 3]], warning);
    press("a");
    assertEquals([decisions.approving.value, ids()], [null, [3]], warning);
  }
});

Deno.test("letters of another alphabet are marked in the words that mix them, or where all are of it", () => {
  const found = (title: string) => marked(title).map(([text, isMarked]) => (isMarked ? `[${text}]` : text)).join("");
  assertEquals(found("V\u0456m"), "V[\u0456]m");
  assertEquals(found("\u041b\u0435\u0441 and P\u0430yP\u0430l"), "\u041b\u0435\u0441 and P[\u0430]yP[\u0430]l");
  assertEquals(found("\u0441\u043e\u0441\u043e 2"), "[\u0441\u043e\u0441\u043e] 2");
  assertEquals(found("Vim \u30a8\u30c7\u30a3\u30bf"), "Vim \u30a8\u30c7\u30a3\u30bf");
});

Deno.test("of two approvals the first says so, and what one has approved is below and is not approved again", async () => {
  await atQueue(3);
  const approvals = (...given: object[]) => ({ approvals: { required: 2, given: given.map((user) => ({ user, at: "2026-11-20T10:00:00Z" })) } });
  server.on(POST, async (request) => {
    const body: Sent = await request.json();
    sent.push(body);
    return { items: body.items.map(({ id, version }) => ({ id, status: 202, project: item(id, version, approvals(GRACE)) })) };
  });
  queue.queue.set({ ...queue.queue.data.value!, items: [1, 2, 3].map((id) => item(id, 1, approvals())) as any });
  press("a");
  assertEquals(decisions.told.value.text, "Your approval of Project 1 (1 of 2).");
  await elapse();
  assertEquals([ids(), queue.current.value], [[2, 3, 1], 2]);
  assertEquals(decisions.told.value.text, "Project 1: 1 of 2 approvals. It waits for another person.");
  await elapseOf(8000); // what is said goes away by itself
  assertEquals(decisions.told.value.text, "");
  press("j", "j", "a");
  assertEquals([decisions.told.value.text, ids(), sent.length], ["You have approved Project 1. It waits for another person.", [2, 3, 1], 1]);
  queue.queue.set({ ...queue.queue.data.value!, items: [item(2, 1, approvals({ id: 8, username: "linus" }))] as any });
  queue.go(2);
  press("a");
  assertEquals(decisions.told.value.text.slice(0, 19), "Approved Project 2."); // the last one that was needed
});

Deno.test("each lane is a part of the list by its address, and what has none is not one", async () => {
  await atQueue(1);
  const asked: string[] = [];
  server.on("GET /api/review/projects", (request) => {
    asked.push(new URL(request.url).search);
    return server.page([]);
  });
  for (const lane of (Object.keys(LANES) as Lane[]).reverse()) {
    navigate(addressOfLane(lane));
    await server.idle();
    assertEquals([laneOf(address.value), isInLane(lane)], [lane, true]);
  }
  const parts = ["answered=true", "waiting_for=appeal", "waiting_for=owner", "held=true"].map((each) => `?sort=oldest&limit=50&${each}`);
  assertEquals(asked, [...parts, "?waiting=true&limit=50"]);
  navigate("/admin/queue?held=true&answered=true");
  assertEquals(laneOf(address.value), undefined);
});

Deno.test("an owner's record follows one's own decisions", async () => {
  await atQueue(3);
  press("a", "r", "1", "Enter");
  await elapse();
  assertEquals(queue.item.value?.owner_stats, { live: 1, pending: 0, rejected: 1 });
});

Deno.test("what another reviewer decided leaves the list, and what is shown stays", async () => {
  await atQueue(3);
  server.on("GET /api/review/projects", () => server.page([item(3), item(4)]));
  server.on("GET /api/review/projects/1/history", () => server.page([entry(1, "project.approved", { at: "2026-11-21T10:00:00.000000Z" })]));
  await server.idle();
  await readAgain();
  assertEquals([ids(), queue.current.value, queue.waitingCount.value], [[1, 3, 4], 1, 2]);
  press("j");
  await readAgain();
  assertEquals([ids(), queue.current.value], [[3, 4], 3]);
});

Deno.test("a read that began before a decision changes nothing", async () => {
  await atQueue(3);
  const late = deferred<object>();
  server.on("GET /api/review/projects", () => late.promise);
  const reading = readAgain();
  press("a");
  const elapsed = elapse();
  await until(() => sent.length);
  late.resolve(server.page([item(1), item(2), item(3)]));
  await elapsed;
  await reading;
  assertEquals(ids(), [2, 3]);
});

Deno.test("a session that ended is told in words for people, with one full stop", async () => {
  await atQueue(2);
  server.on(POST, () => server.problem(401, "unauthenticated", "Sign in, or send a valid bearer token."));
  press("a");
  await elapse();
  assertEquals(decisions.told.value.text, "Project 1: Not decided: Your session has ended. Sign in to go on.");
});

Deno.test("times are those of the service's clock", async () => {
  const slow = 30 * 60_000;
  await atQueue(1);
  server.on("GET /api/categories", () => Response.json({ items: [] }, { headers: { Date: new Date(Date.now() + slow).toUTCString() } }));
  await api.GET("/api/categories");
  assertEquals(ago(new Date(Date.now() + slow - 2000).toISOString()), "just now");
  server.on("GET /api/categories", () => Response.json({ items: [] }, { headers: { Date: new Date().toUTCString() } }));
  await api.GET("/api/categories");
  assertEquals(ago(new Date(Date.now() - 180_000).toISOString()), "3 minutes ago");
});
