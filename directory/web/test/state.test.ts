// The state of the console's pages without a browser, and what the form of a project makes of tags and addresses.
import { assertEquals, deferred, type Deferred, reset, server } from "./support.ts";

const { loadSession, onNewCaller, readOnly, session, user, withSession } = await import("../src/state/session.ts");
const { Resource, forget } = await import("../src/state/resource.ts");
const { withScheme } = await import("../src/forms/project.ts");
const { tagsOf } = await import("../src/forms/tags.ts");
const { api, ask, Problem } = await import("../src/api/client.ts");
const { asciiHost } = await import("../src/parts/address.ts");

const SITE = { site: { name: "Ours", url: "" }, registration_open: true, read_only: false, password_reset: false, providers: [] };
const ADA = { id: 1, username: "ada", email: "ada@example.org", role: "member", is_admin: false, permissions: [], status: "active", created_at: "" };

async function signedIn(who: object | null = ADA) {
  reset();
  server.on("GET /api/session", () => ({ ...SITE, user: who }));
  await loadSession();
}

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
  server.on("GET /api/projects/6", () => server.problem(401, "unauthenticated", "Sign in."));
  await withSession(ask(api.GET("/api/projects/{project_id}", { params: { path: { project_id: 6 } } }))).catch(() => {});
  assertEquals([user.value, session.value?.site.name], [null, "Ours"]);
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

Deno.test("a write names the account that the page shows, and a read does not", async () => {
  await signedIn();
  const named: (string | null)[] = [];
  for (const method of ["GET", "DELETE"]) {
    server.on(`${method} /api/projects/9`, (request) => (named.push(request.headers.get("X-Expected-User")), {}));
  }
  const options = { params: { path: { project_id: 9 } } };
  await ask(api.GET("/api/projects/{project_id}", options));
  await ask(api.DELETE("/api/projects/{project_id}", options));
  assertEquals(named, [null, "1"]);
});

Deno.test("a host in other letters is also shown in ASCII", () => {
  assertEquals(asciiHost("https://www.\u0430\u0440\u0440\u04cf\u0435.com/store"), "www.xn--80ak6aa92e.com");
  assertEquals(asciiHost("HTTPS://b\u00fccher.example:8443/"), "xn--bcher-kva.example");
  for (const plain of ["https://apple.com/\u0430", "https://xn--bcher-kva.example", "https://example.com", "not a url"]) {
    assertEquals(asciiHost(plain), null);
  }
});

