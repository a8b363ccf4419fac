// The tables and charts of the console without a browser: what an address asks for, files, questions, sentences, bars.
import { assertEquals, deferred, elapse, reset, server, type Deferred } from "./support.ts";

const { loadSession, session, user } = await import("../src/state/session.ts");
const { address, navigate, start } = await import("../src/state/router.ts");
const { forget } = await import("../src/state/resource.ts");
const { notice } = await import("../src/state/notice.ts");
const { Problem } = await import("../src/api/client.ts");
const { Listing } = await import("../src/console/listing.ts");
const { ID, wantedBy } = await import("../src/state/filtering.ts");
const { csvOf, fileName, tableCsv } = await import("../src/console/csv.ts");
const { askedBy, exporting, exportLog, readLog } = await import("../src/console/audit-reading.ts");
const dialog = await import("../src/console/dialog-state.ts");
const { sentences } = await import("../src/api/events.ts");
const { sentence } = await import("../src/console/sentences.ts");
const { outcomeOf } = await import("../src/console/bulk.tsx");
const { barsOf, ceilingOf, cutOff, dayAt } = await import("../src/console/chart.ts");

const SITE = { site: { name: "Ours", url: "" }, registration_open: true, read_only: false, password_reset: false, providers: [] };
const GRACE = { id: 1, username: "grace", email: "grace@example.org", role: "admin", is_admin: true, permissions: ["review", "administer"], status: "active", created_at: "" };
const FILTERS = [{ name: "q" }, { name: "status", values: ["live", "pending"] }, { name: "owner", pattern: /^[a-z]{3,}$/ }, { name: "sort", values: ["newest"] }];
type Wanted = Record<string, string>;
interface Row {
  id: number;
}

const refused = new Problem(403, "admin_required", "Administrators only", "Ask one.");
let asked: Wanted[] = [];
let answer: (wanted: Wanted) => Promise<object> = () => Promise.resolve(server.page([]));

function listing() {
  const list = new Listing<Row>("things", FILTERS, (wanted) => {
    asked.push(wanted);
    return answer(wanted) as Promise<{ items: Row[] }>;
  });
  start([{ pattern: /^\/things$/, page: { enter: (_match, query) => list.enter(query), view: () => null, title: () => "" } }]);
  return list;
}

async function open(path: string, who: object | null = GRACE) {
  reset();
  forget();
  asked = [];
  server.on("GET /api/session", () => ({ ...SITE, user: who }));
  await loadSession();
  navigate(path, { replace: true });
  await server.idle();
}

const pause = () => elapse(250); // milliseconds without a key before typed text is looked for

Deno.test("an address says what a table shows, and what it cannot mean is left out", () => {
  const wanted = (text: string) => wantedBy(new URLSearchParams(text), FILTERS);
  assertEquals(wanted("q=%20lamp%20&status=live&cursor=abc&other=1"), { q: "lamp", status: "live", cursor: "abc" });
  assertEquals(wanted("status=gone&sort=upwards"), {});
  assertEquals(wanted("owner=a!"), null);
  assertEquals(ID.test("0"), false);
  assertEquals(ID.test("42"), true);
});

Deno.test("text that nothing can match finds nothing, and the service is not asked", async () => {
  const list = listing();
  await open("/things?owner=A");
  assertEquals(asked, []);
  assertEquals(list.rows.data.value?.items, []);
});

Deno.test("text that is typed without a pause is looked for once, and a filter that is chosen is applied at once", async () => {
  const list = listing();
  await open("/things?cursor=later");
  list.type("q", "la");
  list.type("q", "lamp");
  await pause();
  assertEquals(address.value.search, "?q=lamp");
  assertEquals(asked.at(-1), { q: "lamp" });
  list.type("q", "lamps");
  list.choose("status", "live");
  assertEquals(address.value.search, "?q=lamps&status=live");
  assertEquals(list.typed.value.q, "lamps");
  await pause();
  assertEquals(asked.length, 3);
  list.type("q", "\u3089\u3093p", true); // an input method is composing
  await pause();
  assertEquals([asked.length, address.value.search], [3, "?q=lamps&status=live"]);
});

Deno.test("text that was typed on a page that was left is not looked for on another", async () => {
  const list = listing();
  await open("/things");
  list.type("q", "lamp");
  address.value = new URL("/elsewhere", address.value);
  await pause();
  assertEquals(address.value.pathname + address.value.search, "/elsewhere");
});

Deno.test("the field shows what the address says when one goes back", async () => {
  const list = listing();
  await open("/things?q=lamp");
  assertEquals(list.typed.value.q, "lamp");
  navigate("/things");
  assertEquals(list.typed.value.q, "");
});

Deno.test("the answer for filters that were left is not shown", async () => {
  const list = listing();
  const slow: Deferred<object> = deferred();
  answer = ({ status }) => (status === "live" ? slow.promise : Promise.resolve(server.page([{ id: 2 }])));
  await open("/things?status=live");
  navigate("/things?status=pending");
  await server.idle();
  slow.resolve(server.page([{ id: 1 }]));
  await server.idle();
  assertEquals(list.rows.data.value?.items, [{ id: 2 }]);
  assertEquals(list.rows.data.value?.of, list.key);
  answer = () => Promise.resolve(server.page([]));
});

Deno.test("nobody but an administrator reads a table, and one who is no longer one learns it", async () => {
  const list = listing();
  await open("/things", null);
  assertEquals(asked, []);
  answer = () => Promise.reject(refused);
  await open("/things");
  assertEquals(list.rows.problem.value?.code, "admin_required");
  assertEquals(server.calls.filter((call) => call === "GET /api/session").length, 2);
  answer = () => Promise.reject(new Problem(401, "unauthenticated", "Sign in", ""));
  await open("/things?status=live");
  assertEquals(user.value, null);
  answer = () => Promise.resolve(server.page([]));
});

Deno.test("a cell that begins as a formula is text in a spreadsheet, and numbers stay numbers", () => {
  const rows = (cell: string | number | null) => csvOf(["A"], [[cell]]).split("\r\n")[1];
  for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1", "=cmd|' /C calc'!A0"]) {
    assertEquals(rows(text), `"'${text}"`.replaceAll("\r", "\r"), text);
  }
  assertEquals(rows(-5), "-5");
  assertEquals(rows(null), '""');
  assertEquals(rows('say "hi", x'), '"say ""hi"", x"');
  assertEquals(rows("a=b"), '"a=b"');
  assertEquals(csvOf(["=A"], []), "\ufeff\"'=A\"\r\n");
});

Deno.test("a file has the columns that have a text, and the table's name", () => {
  const columns = [{ name: "Id", text: (row: Row) => row.id }, { name: "Actions" }];
  assertEquals(tableCsv(columns, [{ id: 7 }]), '\ufeff"Id"\r\n7\r\n');
  assertEquals(fileName("users", new Date("2026-11-23T23:59:00Z")), "users-2026-11-23.csv");
});

Deno.test("a dialog stays open with the reason where the answer is refused, and is closed by what succeeds", async () => {
  let refusing = true;
  dialog.ask({ title: "Sure?", action: "Do", act: () => (refusing ? Promise.reject(new Problem(409, "last_admin", "No", "The last one.")) : Promise.resolve()) });
  assertEquals(await dialog.answer({}), false);
  assertEquals(dialog.problem.value?.detail, "The last one.");
  refusing = false;
  assertEquals(await dialog.answer({}), true);
  assertEquals([dialog.question.value, dialog.problem.value, dialog.busy.value], [null, null, ""]);
});

Deno.test("a dialog that was answered twice does it once, and closes when the page is left", async () => {
  const done: Deferred<void> = deferred();
  let times = 0;
  dialog.ask({ title: "Sure?", action: "Do", act: () => (times++, done.promise) });
  const first = dialog.answer({});
  assertEquals(await dialog.answer({}), false);
  address.value = new URL("/away", address.value);
  assertEquals(dialog.question.value, null);
  done.resolve();
  assertEquals([await first, times], [true, 1]);
});

Deno.test("what is refused without a dialog is said", async () => {
  await dialog.act("test", () => Promise.reject(new Problem(503, "unavailable", "Not now", "Try later.")));
  assertEquals(notice.value, { text: "Not now. Try later.", bad: true });
});

const ENTRY = {
  id: 1, at: "", action: "project.approved", actor: { id: 1, username: "grace" }, project_id: 42, user_id: null, from: "pending", to: "live",
  reason: null, project: { id: 42, title: "Flask" }, user: null, changes: null,
} as const;
const told = (changes: object) => sentence({ ...ENTRY, ...changes } as any).map(({ text }) => text).join("");

Deno.test("each entry of the log is a sentence with names", () => {
  assertEquals(told({}), "grace approved Flask.");
  assertEquals(told({ actor: null, action: "project.imported" }), "The operator imported Flask as live.");
  assertEquals(told({ action: "project.submitted" }), "grace submitted Flask.");
  assertEquals(told({ action: "project.rejected" }), "grace rejected Flask.");
  assertEquals(told({ action: "project.rejected", actor: null, reason: "No answer within 28 days." }), "The service rejected Flask.");
  assertEquals(told({ action: "project.edit_rejected", actor: null, reason: "No answer within 1 day." }), "The service rejected the changes of Flask.");
  assertEquals(told({ action: "project.rejected", actor: null, reason: "No answer." }), "The operator rejected Flask.");
  assertEquals(told({ action: "project.rejected", actor: null, rule_id: 7, reason: "Spam." }), "A rule rejected Flask.");
  assertEquals(told({ action: "project.unpublished" }), "grace took Flask down.");
  assertEquals(told({ action: "project.edited", from: "live", to: "live" }), "grace edited Flask.");
  assertEquals(told({ action: "project.edited", from: "rejected", to: "pending" }), "grace edited Flask, which went back to the queue.");
  const about = { project: null, project_id: null, user: { id: 9, username: "mallory" }, user_id: 9 };
  assertEquals(told({ ...about, action: "user.status_changed", to: "suspended" }), "grace suspended mallory.");
  assertEquals(told({ ...about, action: "user.status_changed", to: "active" }), "grace restored mallory.");
  assertEquals(told({ ...about, action: "user.role_changed", to: "admin" }), "grace made mallory an administrator.");
  assertEquals(told({ ...about, action: "user.role_changed", to: "member" }), "grace made mallory a member.");
  assertEquals(told({ ...about, action: "user.role_changed", to: "admin", actor: null, reason: "company" }), "company made mallory an administrator.");
  assertEquals(told({ ...about, action: "user.role_changed", to: "admin", actor: null }), "The operator made mallory an administrator.");
  assertEquals(told({ ...about, action: "user.signed_out", user: null }), "grace signed user 9 out everywhere.");
  assertEquals(told({ action: "project.deleted", project: null }), "grace deleted project 42.");
});

Deno.test("each sentence knows its placeholders", () => {
  for (const action of Object.keys(sentences)) assertEquals(/^[^{}]+\.$/.test(told({ action, to: "x" })), true, action);
});

Deno.test("names in a sentence lead to what they name; a deleted project to its entries", () => {
  const links = (changes: object) => sentence({ ...ENTRY, ...changes } as any).map((part) => part.href).filter(Boolean);
  session.value = { user: { ...GRACE, permissions: ["review"] } } as any; // reviewers see neither users nor the log
  assertEquals([links({}), links({ action: "project.deleted" })], [["/users/grace", "/admin/queue/42"], ["/users/grace"]]);
  session.value = { user: GRACE } as any;
  assertEquals(links({}), ["/admin/users/1", "/p/42/-"]);
  assertEquals(links({ action: "project.deleted" }), ["/admin/users/1", "/admin/audit?project_id=42"]);
});

Deno.test("a scale ends at a round number, and what is above it is cut off", () => {
  assertEquals([[], [0], [3], [7], [11], [21], [99], [640]].map(ceilingOf), [1, 1, 3, 8, 20, 30, 100, 800]);
  assertEquals(barsOf([1, 0, 2], 2), "M0.1 100V50H0.9V100ZM2.1 100V0H2.9V100Z");
  assertEquals(barsOf([3000], 4, [2]), "M0.1 50V0H0.9V50Z");
  assertEquals(barsOf([3000], 4, [4]), "");
  assertEquals(cutOff([1, 3000, 4], 4), [1]);
  assertEquals([-0.1, 0, 0.5, 1].map((place) => dayAt(place, 30)), [0, 0, 15, 29]);
});

Deno.test("each outcome of a decision about many is in words", () => {
  const lamp = { id: 3, title: "Lamp" } as any;
  const text = (answer: object, decision: any = "approve") => outcomeOf(lamp, { id: 3, ...answer } as any, decision);
  assertEquals(text({ status: 200, project: { status: "live" } }), { id: 3, title: "Lamp", text: "Approved", good: true });
  assertEquals(text({ status: 200 }, "delete").text, "Deleted");
  assertEquals(text({ status: 404, code: "not_found" }).text, "Not decided: it was deleted");
  assertEquals(text({ status: 412, project: { status: "rejected" } }).text, "Not done: it changed after the table was read, and is rejected now");
  assertEquals(text({ status: 409, code: "invalid_transition" }), { id: 3, title: "Lamp", text: "Not done: its state does not allow it", good: false });
});

Deno.test("the days of a filter begin and end where the browser is", () => {
  const at = (text: string) => new Date(text).toISOString();
  assertEquals(askedBy({ q: "lamp", since: "2026-03-28", until: "2026-12-31" }), { q: "lamp", since: at("2026-03-28T00:00"), until: at("2027-01-01T00:00") });
  assertEquals(askedBy({ actor: "grace", cursor: "abc" }), { actor: "grace", cursor: "abc" });
});

Deno.test("a page of the log is filled from parts that have few matches, and ends after ten of them", async () => {
  reset();
  const asked: (string | null)[][] = [];
  let parts = 3;
  server.on("GET /api/admin/audit", (request) => {
    const { searchParams } = new URL(request.url);
    asked.push([searchParams.get("cursor"), searchParams.get("limit"), searchParams.get("q")]);
    const next_cursor = asked.length < parts ? `after${asked.length}` : null;
    return { items: asked.length % 2 ? [{ id: asked.length }] : [], pagination: { next_cursor, prev_cursor: `before${asked.length}` } };
  });
  const page = await readLog({ q: "lamp" }, new AbortController().signal);
  assertEquals(asked, [[null, "50", "lamp"], ["after1", "49", "lamp"], ["after2", "49", "lamp"]]);
  assertEquals(page, { items: [{ id: 1 }, { id: 3 }], pagination: { next_cursor: null, prev_cursor: "before1" } });
  asked.length = 0;
  parts = 99;
  assertEquals((await readLog({}, new AbortController().signal)).pagination.next_cursor, "after10");
  assertEquals(asked.length, 10);
});

Deno.test("the file of the log has every part of what the filters find, and a failure is said", async () => {
  reset();
  const asked: string[] = [];
  const saved: Blob[] = [];
  const [createObjectURL, createElement] = [URL.createObjectURL, document.createElement];
  URL.createObjectURL = (blob: Blob | MediaSource) => (saved.push(blob as Blob), "blob:log");
  document.createElement = (() => ({ click() {} })) as any;
  server.on("GET /api/admin/audit.csv", (request) => {
    asked.push(new URL(request.url).search);
    const Link = asked.length < 3 ? `</api/admin/audit.csv?q=lamp&cursor=part${asked.length}>; rel="next"` : "";
    return new Response(`part ${asked.length}\r\n`, { headers: { "Content-Type": "text/csv", ...(Link && { Link }) } });
  });
  await exportLog({ q: "lamp", cursor: "page2" });
  assertEquals(asked, ["?q=lamp", "?q=lamp&cursor=part1", "?q=lamp&cursor=part2"]);
  assertEquals(await saved[0]!.text(), "part 1\r\npart 2\r\npart 3\r\n");
  server.on("GET /api/admin/audit.csv", () => server.problem(503, "unavailable", "Try again."));
  await exportLog({});
  assertEquals([saved.length, exporting.value, notice.value], [1, null, { text: "Nothing was exported. Try again.", bad: true }]);
  Object.assign(URL, { createObjectURL });
  Object.assign(document, { createElement });
});
