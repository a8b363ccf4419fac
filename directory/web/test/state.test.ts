// The state of the pages without a browser: votes, lists, what is typed, and the form of a submission.
import { assertEquals, deferred, type Deferred, elapse, reset, server } from "./support.ts";

const { note, vote, voteOf } = await import("../src/state/votes.ts");
const { loadSession, onNewCaller, readOnly, session, user } = await import("../src/state/session.ts");
const { notice } = await import("../src/state/notice.ts");
const { Resource, forget } = await import("../src/state/resource.ts");
const { address, start, withQuery } = await import("../src/state/router.ts");
const form = await import("../src/state/submission.ts");
const { check, FORM } = await import("../src/state/form.ts");
const logos = await import("../src/state/logo.ts");
const { tagsOf, withScheme } = await import("../src/state/tags.ts");
const { EMPTY, stored } = await import("../src/state/draft.ts");
const { Problem } = await import("../src/api/client.ts");
const { asciiHost } = await import("../src/parts/address.ts");

const SITE = { site: { name: "Ours", url: "" }, registration_open: true, read_only: false, password_reset: false, providers: [] };
const ADA = { id: 1, username: "ada", email: "ada@example.org", role: "member", is_admin: false, status: "active", created_at: "" };

function project(id: number, upvotes = 3, has_upvoted: boolean | null = false) {
  return { id, title: `Project ${id}`, upvotes, has_upvoted };
}

async function signedIn(who: object | null = ADA) {
  reset();
  server.on("GET /api/session", () => ({ ...SITE, user: who }));
  await loadSession();
}

Deno.test("a vote shows at once and then as the service counted it", async () => {
  await signedIn();
  const answer: Deferred<object> = deferred();
  server.on("PUT /api/projects/1/upvote", () => answer.promise);
  vote(project(1), true);
  assertEquals(voteOf(project(1)).value, { on: true, count: 4 });
  answer.resolve({ project_id: 1, upvoted: true, upvotes: 9 });
  await server.idle();
  assertEquals(voteOf(project(1)).value, { on: true, count: 9 });
});

Deno.test("the last of several quick presses is what the service is left with", async () => {
  await signedIn();
  const first: Deferred<object> = deferred();
  server.on("PUT /api/projects/2/upvote", () => first.promise);
  server.on("DELETE /api/projects/2/upvote", () => ({ project_id: 2, upvoted: false, upvotes: 3 }));
  vote(project(2), true);
  vote(project(2), false);
  vote(project(2), true);
  vote(project(2), false);
  assertEquals(voteOf(project(2)).value, { on: false, count: 3 });
  first.resolve({ project_id: 2, upvoted: true, upvotes: 4 });
  await server.idle();
  assertEquals(server.calls.filter((call) => call.includes("upvote")), ["PUT /api/projects/2/upvote", "DELETE /api/projects/2/upvote"]);
  assertEquals(voteOf(project(2)).value, { on: false, count: 3 });
});

Deno.test("a file that cannot be a logo is refused before it is sent", () => {
  const files: [File, string][] = [
    [new File(["<svg/>"], "logo.svg", { type: "image/svg+xml" }), "A logo is a PNG, JPEG or WebP picture. Save this one as a PNG."],
    [new File([new Uint8Array(2 ** 20 + 1)], "logo.png", { type: "image/png" }), "This file is larger than 1 MB."],
  ];
  for (const [file, fault] of files) {
    logos.chooseLogo(file);
    assertEquals([logos.logo.value, logos.logoFault.value], [null, fault]);
  }
  logos.chooseLogo(undefined);
  assertEquals(logos.logoFault.value, "");
});

Deno.test("a refused vote is taken back with the reason", async () => {
  await signedIn();
  server.on("PUT /api/projects/3/upvote", () => server.problem(429, "rate_limited", "Try again in 7 seconds."));
  vote(project(3), true);
  assertEquals(voteOf(project(3)).value, { on: true, count: 4 });
  await server.idle();
  assertEquals(voteOf(project(3)).value, { on: false, count: 3 });
  assertEquals(notice.value?.text.includes("Try again in 7 seconds."), true);
});

Deno.test("a list that was read meanwhile does not undo a vote that is under way", async () => {
  await signedIn();
  const answer: Deferred<object> = deferred();
  server.on("PUT /api/projects/4/upvote", () => answer.promise);
  vote(project(4), true);
  note([project(4, 3, false)], performance.now());
  assertEquals(voteOf(project(4)).value.on, true);
  answer.resolve({ project_id: 4, upvoted: true, upvotes: 4 });
  await server.idle();
  note([project(4, 8, true)], performance.now());
  assertEquals(voteOf(project(4)).value, { on: true, count: 8 });
});

Deno.test("a list that was asked for before a vote was answered does not undo it", async () => {
  await signedIn();
  server.on("PUT /api/projects/7/upvote", () => ({ project_id: 7, upvoted: true, upvotes: 4 }));
  const began = performance.now();
  vote(project(7), true);
  await server.idle();
  note([project(7, 3, false)], began);
  assertEquals(voteOf(project(7)).value, { on: true, count: 4 });
});

Deno.test("an answer that comes late does not take the place of a later one", async () => {
  reset();
  const [slow, fast]: Deferred<string>[] = [deferred(), deferred()];
  const read = new Resource<string>();
  const first = read.load("a", () => slow!.promise);
  const second = read.load("b", () => fast!.promise);
  fast!.resolve("B");
  await second;
  slow!.resolve("A");
  await first;
  assertEquals([read.data.value, read.busy.value], ["B", false]);
});

Deno.test("what was read before shows at once, and what fails leaves it", async () => {
  reset();
  forget();
  const read = new Resource<string>();
  await read.load("a", () => Promise.resolve("A"));
  await read.load("b", () => Promise.resolve("B"));
  const again = read.load("a", () => Promise.reject(new Problem(503, "unavailable", "Unavailable", "Later.")));
  assertEquals([read.data.value, read.busy.value], ["A", true]);
  await again;
  assertEquals([read.data.value, read.busy.value, read.problem.value?.status], ["A", false, 503]);
});

Deno.test("a session that has ended elsewhere ends here", async () => {
  await signedIn();
  server.on("PUT /api/projects/6/upvote", () => server.problem(401, "unauthenticated", "Sign in."));
  vote(project(6), true);
  await server.idle();
  assertEquals([user.value, session.value?.site.name], [null, "Ours"]);
});

Deno.test("a submission is checked in words before it is sent", () => {
  const good = { ...EMPTY, url: "https://a.example", title: "A", tagline: "B", category: "tools", tags: "x, y-z" };
  assertEquals(check(good), {});
  assertEquals(Object.keys(check(EMPTY)).sort(), ["category", "tagline", "title", "url"]);
  for (const url of ["a", "javascript:alert(1)", "mailto:a@b.example", "a@b.example", "a b.example", "ftp://a", "https://"]) {
    assertEquals(Object.keys(check({ ...good, url })), ["url"], url);
  }
  assertEquals(Object.keys(check({ ...good, title: "x".repeat(101) })), ["title"]);
  assertEquals(check({ ...good, title: "\u{1F600}".repeat(100) }), {}, "characters, and not halves of them");
  assertEquals(Object.keys(check({ ...good, tags: "a b c d e f" })), ["tags"]);
  assertEquals(check({ ...good, url: "a.example" }), {});
  assertEquals(check({ ...good, tags: "C++, .NET" }), {});
  assertEquals(Object.keys(check({ ...good, tags: "\u043f\u043e\u0438\u0441\u043a" })), ["tags"]);
});

Deno.test("a draft is stored as it is written, and nothing of an account with it", async () => {
  await signedIn();
  form.enterForm(null);
  form.write("title", "Lanternfish");
  form.write("url", "https://lantern");
  assertEquals(stored(), { ...EMPTY, title: "Lanternfish", url: "https://lantern" });
  assertEquals(JSON.stringify({ ...localStorage }).includes("ada"), false);
  form.discard();
  assertEquals(Object.keys({ ...localStorage }), []);
});

Deno.test("a title is looked for once its characters are composed", async () => {
  await signedIn();
  server.on("GET /api/projects/check", () => ({ same: [], similar: [] }));
  form.enterForm(null);
  form.write("title", "ずかんちょう", true);
  await elapse(400);
  assertEquals([stored().title, server.calls.includes("GET /api/projects/check")], ["ずかんちょう", false]);
  form.write("title", "図鑑帳");
  await elapse(400);
  assertEquals(server.calls.includes("GET /api/projects/check"), true);
  form.discard();
});

Deno.test("once the service takes writes again, the page knows it without a reload", async () => {
  await signedIn();
  const real = { setInterval: globalThis.setInterval, clearInterval: globalThis.clearInterval };
  const asking = new Map<number, () => void>();
  Object.assign(globalThis, {
    setInterval: (act: () => void) => (asking.set(asking.size + 1, act), asking.size),
    clearInterval: (timer: number) => asking.delete(timer),
  });
  server.on("POST /api/auth/passkeys/login/options", () => server.problem(503, "read_only", "Nothing can be changed."));
  const { signInByPasskey, wrong } = await import("../src/state/passkey.ts");
  await signInByPasskey();
  assertEquals([wrong.value, readOnly.value], ["Nothing can be changed.", true]);
  for (const ask of asking.values()) ask();
  await server.idle();
  assertEquals([readOnly.value, asking.size], [false, 0]);
  Object.assign(globalThis, real);
});

Deno.test("a page that is shown again after its member signed out shows nothing of theirs", async () => {
  await signedIn();
  const tokens = new Resource<string[]>(true);
  onNewCaller(() => tokens.clear());
  const shown = () => globalThis.dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
  tokens.set([]);
  shown();
  await server.idle();
  assertEquals([user.value?.id, tokens.data.value], [1, []]);
  server.on("GET /api/session", () => ({ ...SITE, user: null }));
  shown();
  await server.idle();
  assertEquals([user.value, tokens.data.value], [null, undefined]);
});

Deno.test("tags become slugs as they are typed, each once", () => {
  assertEquals(tagsOf(" CLI,backup  cli; #Rust "), ["cli", "backup", "rust"]);
  assertEquals(tagsOf("C++ C# F# .NET Node.js Caf\u00e9 a_b tcp/ip -x- ++"), ["cpp", "csharp", "fsharp", "dotnet", "nodejs", "cafe", "a-b", "tcp-ip", "x", "pp"]);
});

Deno.test("an address may be typed without its scheme", () => {
  for (const [typed, wanted] of Object.entries({
    "vim.org": "https://vim.org", " www.vim.org/a?b#c ": "https://www.vim.org/a?b#c", "vim.org:8443/x": "https://vim.org:8443/x",
    "b\u00fccher.example": "https://b\u00fccher.example", "http://vim.org": "http://vim.org", "ftp://vim.org": "ftp://vim.org",
    "javascript:alert(1)": "javascript:alert(1)", "a@vim.org": "a@vim.org", "mailto:a@vim.org": "mailto:a@vim.org", vim: "vim", "": "",
  })) assertEquals(withScheme(typed), wanted, typed);
});

Deno.test("an address without a scheme is sent and stored with it once its field is left", async () => {
  await signedIn();
  server.on("GET /api/projects/check", () => ({ same: [], similar: [] }));
  form.enterForm(null);
  form.write("url", "vim.org");
  form.leave("url");
  assertEquals(form.draft.value.url, "https://vim.org");
  form.discard();
});

const SAVED = {
  id: 9, slug: "a", status: "pending", url: "https://a.example", title: "A", tagline: "B", description: "", category: { slug: "tools" }, tags: ["x"],
  repository_url: null,
};

/** The service with one project; `saved` is what it has, which others may change. */
function withProject(saved: typeof SAVED & { version: number }) {
  forget();
  start([{ pattern: /^\/p\/9/, page: { enter: () => {}, view: () => null, title: () => "" } }]); // Deno opens no other page
  server.on("GET /api/projects/9", () => Response.json(saved, { headers: { ETag: `"${saved.version}"` } }));
  server.on("PUT /api/projects/9", (request) => {
    if (request.headers.get("If-Match") !== `"${saved.version}"`) return server.problem(412, "precondition_failed", "It has changed.");
    return { ...saved, version: ++saved.version };
  });
}

Deno.test("a change that is not sent is there after a reload, until it is saved or discarded", async () => {
  await signedIn();
  const saved = { ...SAVED, version: 1 };
  withProject(saved);
  form.enterForm(9);
  await server.idle();
  form.write("tagline", "Mine");
  form.enterForm(null);
  assertEquals(form.draft.value, EMPTY, "a new submission has none of it");
  form.enterForm(9);
  await server.idle();
  assertEquals([form.draft.value.tagline, form.theirs.value, form.isChanged.value], ["Mine", null, true]);
  form.discard();
  await server.idle();
  assertEquals([form.draft.value.tagline, form.isChanged.value], ["B", false]);
  form.write("tagline", "Mine");
  form.send(() => {});
  await server.idle();
  assertEquals(Object.keys({ ...localStorage }), []);
});

Deno.test("after another saved, both texts are there and saving again keeps one's own", async () => {
  await signedIn();
  const saved = { ...SAVED, version: 1 };
  withProject(saved);
  form.enterForm(9);
  await server.idle();
  form.write("tagline", "Mine");
  Object.assign(saved, { tagline: "Theirs", version: 2 });
  form.send(() => {});
  await server.idle();
  assertEquals([form.draft.value.tagline, form.theirs.value?.tagline], ["Mine", "Theirs"]);
  form.enterForm(9);
  await server.idle();
  assertEquals([form.draft.value.tagline, form.theirs.value?.tagline], ["Mine", "Theirs"], "after a reload too");
  form.send(() => {});
  await server.idle();
  assertEquals([saved.version, form.problem.value], [3, null]);
});

Deno.test("a change that was begun before another saved shows both texts when it is taken up", async () => {
  await signedIn();
  const saved = { ...SAVED, version: 1 };
  withProject(saved);
  form.enterForm(9);
  await server.idle();
  form.write("tagline", "Mine");
  Object.assign(saved, { tagline: "Theirs", version: 2 });
  form.enterForm(9);
  await server.idle();
  assertEquals([form.draft.value.tagline, form.theirs.value?.tagline], ["Mine", "Theirs"]);
  form.write("tagline", "Theirs");
  assertEquals(Object.keys({ ...localStorage }), [], "what is the same as saved is no change");
});

Deno.test("a write names the account that the page shows, and a read does not", async () => {
  await signedIn();
  const named: (string | null)[] = [];
  server.on("GET /api/projects/9", (request) => (named.push(request.headers.get("X-Expected-User")), SAVED));
  server.on("PUT /api/projects/8/upvote", (request) => (named.push(request.headers.get("X-Expected-User")), { project_id: 8, upvoted: true, upvotes: 4 }));
  form.enterForm(9);
  vote(project(8), true);
  await server.idle();
  assertEquals(named, [null, "1"]);
});

Deno.test("what the service refuses stands at its field until the field changes", async () => {
  await signedIn();
  server.on("GET /api/projects/check", () => ({ same: [], similar: [] }));
  server.on("POST /api/projects", () => server.problem(422, "validation_failed", "Values were refused.", [{ pointer: "#/title", detail: "Not so." }]));
  form.enterForm(null);
  for (const [name, text] of Object.entries({ url: "https://a.example", title: "A", tagline: "B", category: "tools" })) form.write(name as "url", text);
  let wrong = 0;
  form.send(() => wrong++);
  await server.idle();
  assertEquals([wrong, form.errors.value.title], [1, "Not so."]);
  form.write("title", "AB");
  assertEquals(form.errors.value.title, undefined);
  form.discard();
});

Deno.test("a host in other letters is also shown in ASCII", () => {
  assertEquals(asciiHost("https://www.\u0430\u0440\u0440\u04cf\u0435.com/store"), "www.xn--80ak6aa92e.com");
  assertEquals(asciiHost("HTTPS://b\u00fccher.example:8443/"), "xn--bcher-kva.example");
  for (const plain of ["https://apple.com/\u0430", "https://xn--bcher-kva.example", "https://example.com", "not a url"]) {
    assertEquals(asciiHost(plain), null);
  }
});

Deno.test("the form has the limits of the API", async () => {
  const document = JSON.parse(await Deno.readTextFile(new URL("../../../docs/openapi.json", import.meta.url)));
  const { properties, required } = document.components.schemas.ProjectInput;
  for (const [name, { most, needed = false }] of Object.entries(FORM)) {
    if (name !== "category") assertEquals(most, properties[name].maxLength, `${name}: most`);
    assertEquals(needed, required.includes(name), `${name}: needed`);
  }
});
