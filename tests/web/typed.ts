// Calls every operation of the API by a client that is typed by its document; run by test_typed_client.py.
import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

declare const Deno: { args: string[] };
type Project = components["schemas"]["ProjectDetail"];
type Answer<T> = { data?: T; error?: unknown; response: Response };

const [site = "", adminToken = "", adaToken = "", bobToken = ""] = Deno.args;
const called = new Set<string>();
const noting: Middleware = {
  onRequest({ request, schemaPath }) {
    called.add(`${request.method} ${schemaPath}`);
    return undefined;
  },
};

function client(token: string) {
  const made = createClient<paths>({ baseUrl: site, headers: token ? { Authorization: `Bearer ${token}` } : {} });
  made.use(noting);
  return made;
}

/** The data of an answer that has to be a good one. */
async function good<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await call;
  if (!response.ok) throw new Error(`${response.status} of ${response.url}: ${JSON.stringify(error)}`);
  return data as T;
}

function expect(what: string, ...pairs: [unknown, unknown][]): void {
  for (const [found, wanted] of pairs) {
    const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
    if (one !== other) throw new Error(`${what}: ${one} and not ${other}`);
  }
}

const anyone = client(""), admin = client(adminToken), ada = client(adaToken), bob = client(bobToken);

function submit(by: typeof ada, title: string): Promise<Project> {
  const body = { title, tagline: "In short", url: `https://${title}.example`, category: "tools", tags: ["lamp"] };
  return good(by.POST("/api/projects", { body }));
}

async function submissions(): Promise<number[]> {
  await good(admin.POST("/api/admin/categories", { body: { slug: "tools", name: "Tools" } }));
  await good(admin.PUT("/api/admin/categories/{slug}", { params: { path: { slug: "tools" } }, body: { description: "" } }));
  await good(admin.POST("/api/admin/categories", { body: { slug: "empty", name: "Empty" } }));
  await good(admin.DELETE("/api/admin/categories/{slug}", { params: { path: { slug: "empty" } } }));
  expect("categories", [(await good(anyone.GET("/api/categories"))).items.map((each) => each.slug), ["tools"]]);
  const ids: number[] = [];
  for (const title of ["first", "second", "third", "fourth"]) ids.push((await submit(ada, title)).id);
  const mine = await good(ada.GET("/api/projects", { params: { query: { owner: "me" } } }));
  expect("own list", [mine.items.map((each) => each.queue_position), [4, 3, 2, 1]]);
  expect("total", [mine.pagination.total_capped, false]);
  return ids;
}

async function review([first = 0, second = 0, third = 0, fourth = 0]: number[]): Promise<void> {
  const queue = await good(admin.GET("/api/admin/projects", { params: { query: { status: "pending" } } }));
  const [item] = queue.items;
  expect("queue", [item?.owner_stats, { live: 0, pending: 4, rejected: 0 }], [item?.earlier, 0], [item?.version, 1]);
  const edited = await good(ada.PUT("/api/projects/{project_id}", { params: { path: { project_id: second } }, body: { tagline: "New" } }));
  expect("edit", [edited.version, 2]);
  const items = [{ id: first, version: 1 }, { id: second, version: 1 }, { id: third, version: 1 }];
  const decided = await good(admin.POST("/api/admin/projects/decisions", { body: { decision: "approve", items } }));
  expect("decisions", [decided.items.map((each) => each.status), [200, 412, 200]]);
  expect("what it is now", [decided.items[1]?.project?.tagline, "New"]);
  const of = (project_id: number, version: string) => ({ params: { path: { project_id }, header: { "If-Match": version } } });
  await good(admin.PUT("/api/admin/projects/{project_id}/approve", { ...of(second, '"2"'), body: {} }));
  await good(admin.PUT("/api/admin/projects/{project_id}/unpublish", { ...of(second, '"3"'), body: { reason: "Wait" } }));
  const refused = await good(admin.PUT("/api/admin/projects/{project_id}/reject", { ...of(second, '"4"'), body: { reason: "No" } }));
  expect("reason", [refused.rejection_reason, "No"]);
  const waits = await good(admin.GET("/api/review/projects", { params: { query: { waiting: "true" } } }));
  const { queue_length } = await good(admin.GET("/api/review/summary"));
  expect("waiting", [waits.items.map((each) => each.id), [fourth]], [queue_length, 1]);
  const reviewed = { params: { path: { project_id: fourth } } };
  expect("background", [(await good(admin.GET("/api/review/projects/{project_id}", reviewed))).earlier, 0]);
  const claimed = await good(admin.PUT("/api/review/projects/{project_id}/claim", { ...reviewed, body: { take_over: true } }));
  expect("claim", [(await good(admin.GET("/api/review/projects/{project_id}", reviewed))).claim, claimed]);
  await good(admin.DELETE("/api/review/projects/{project_id}/claim", reviewed));
  expect("approval", [(await admin.DELETE("/api/review/projects/{project_id}/approval", reviewed)).response.status, 404]);
  await rules();
  await requests(fourth);
  await good(admin.PUT("/api/review/projects/{project_id}/approve", { ...reviewed, body: {} }));
  await good(admin.PUT("/api/review/projects/{project_id}/unpublish", { ...reviewed, body: {} }));
  await good(admin.PUT("/api/review/projects/{project_id}/reject", { ...reviewed, body: {} }));
  const again = await good(admin.POST("/api/review/projects/decisions", { body: { decision: "reject", ids: [fourth] } }));
  expect("rejected already", [again.items[0]?.status, 200]);
  expect("its history", [(await good(admin.GET("/api/review/projects/{project_id}/history", reviewed))).items.length, 5]);
  for (const decision of ["unpublish", "reject", "delete"] as const) {
    const { items } = await good(admin.POST("/api/admin/projects/decisions", { body: { decision, items: [{ id: third }] } }));
    expect(decision, [items[0]?.status, 200]);
  }
  await good(ada.DELETE("/api/projects/{project_id}", { params: { path: { project_id: fourth } } }));
}

async function logs([first = 0, second = 0]: number[]): Promise<void> {
  const log = await good(admin.GET("/api/admin/audit", { params: { query: { action: "project.edited", project_id: second } } }));
  expect("log", [log.items[0]?.changes, { tagline: { from: "In short", to: "New" } }], [log.items[0]?.project?.title, "second"]);
  const history = await good(admin.GET("/api/admin/projects/{project_id}/history", { params: { path: { project_id: first } } }));
  expect("history", [history.items.map((each) => each.action), ["project.approved", "project.submitted"]]);
  const timeline = await good(ada.GET("/api/projects/{project_id}/timeline", { params: { path: { project_id: second } } }));
  expect("timeline", [timeline.items.map((each) => each.event), ["submitted", "edited", "approved", "unpublished", "rejected"]]);
  expect("told reason", [timeline.items[4]?.reason, "No"]);
  const { reviewers, previous } = await good(admin.GET("/api/admin/analytics", { params: { query: { days: 7 } } }));
  expect("dashboard", [reviewers[0]?.username, "root"], [previous.imported, 0]);
}

async function threads([first = 0]: number[]): Promise<void> {
  const params = { params: { path: { project_id: first } } };
  const written = await good(ada.POST("/api/projects/{project_id}/messages", { ...params, body: { text: "Thank you." } }));
  const { items } = await good(ada.GET("/api/projects/{project_id}/messages", { params: { path: { project_id: first } } }));
  expect("thread", [items.map((each) => each.kind), ["approved", "message"]], [written.from, "owner"]);
  expect("unread", [(await good(ada.GET("/api/session"))).user?.unread, 4]);
  await good(ada.PUT("/api/projects/{project_id}/messages/read", { ...params, body: { up_to: written.id } }));
  expect("read", [(await good(ada.GET("/api/session"))).user?.unread, 3]);
  await good(admin.DELETE("/api/admin/messages/{message_id}", { params: { path: { message_id: written.id } } }));
}

async function rules(): Promise<void> {
  const facts = await good(admin.GET("/api/admin/rules/facts"));
  expect("facts", [facts.items.find((each) => each.fact === "words")?.is, ["in", "not in"]]);
  const when = [{ fact: "links", is: ">=", value: 9 } as const];
  const rule = { name: "Links", on: ["submission" as const], when, then: "mark" as const };
  const made = await good(admin.POST("/api/admin/rules", { body: rule }));
  const params = { params: { path: { rule_id: made.id } } };
  expect("rule", [made.state, "off"], [made.days.length, 30], [made.reason, null]);
  const tried = await good(admin.POST("/api/admin/rules/preview", { body: { rule, days: 30 } }));
  expect("tried", [tried.matched, 0], [tried.examples.approved, []]);
  const changed = await good(admin.PUT("/api/admin/rules/{rule_id}", { ...params, body: { state: "dry" } }));
  expect("dry", [changed.state, "dry"], [(await good(admin.GET("/api/admin/rules/{rule_id}", params))).id, made.id]);
  expect("rules", [(await good(admin.GET("/api/admin/rules"))).items.map((each) => each.id).includes(made.id), true]);
  expect("put back", [(await good(admin.POST("/api/admin/rules/{rule_id}/revert", { ...params, body: { since: "2026-01-01" } }))).number, 0]);
  expect("deleted", [(await admin.DELETE("/api/admin/rules/{rule_id}", params)).response.status, 204]);
}

async function requests(id: number): Promise<void> {
  const params = { params: { path: { project_id: id } } };
  const asked = await good(admin.PUT("/api/review/projects/{project_id}/request-changes", { ...params, body: { message: "Why?" } }));
  await good(admin.PUT("/api/admin/projects/{project_id}/request-changes", { ...params, body: { message: "Why?" } }));
  expect("waits", [asked.review?.waiting_for, "owner"]);
  const released = await good(admin.PUT("/api/review/projects/{project_id}/release", params)); // it is not held
  expect("held", [released.review?.held, false]);
  const listed = await good(admin.GET("/api/review/projects", { params: { query: { waiting_for: "owner" } } }));
  expect("with the owner", [listed.items.map((each) => each.id).includes(id), true]);
  await good(admin.POST("/api/review/projects/{project_id}/messages", { ...params, body: { text: "A note", internal: true } }));
  const { items } = await good(admin.GET("/api/review/projects/{project_id}/messages", params));
  expect("notes", [items.at(-1)?.kind, "note"]);
}

/** Ada appeals against the rejection of the second project, which an administrator upholds: nobody else may settle it. */
async function appeals(id: number): Promise<void> {
  const params = { params: { path: { project_id: id } } };
  const entry = await good(ada.POST("/api/projects/{project_id}/appeal", { ...params, body: { text: "Look again." } }));
  expect("appeal", [entry.kind, "appeal"]);
  const listed = await good(admin.GET("/api/review/projects", { params: { query: { waiting_for: "appeal" } } }));
  expect("open appeals", [listed.items.map((each) => each.review?.waiting_for), ["appeal"]]);
  const settled = await good(admin.PUT("/api/review/projects/{project_id}/appeal", { ...params, body: { outcome: "upheld", reason: "No." } }));
  expect("settled appeal", [settled.review, null]);
}

/** No links are looked at here, so what is asked about them is refused. */
async function links([first = 0]: number[]): Promise<void> {
  const params = { params: { path: { project_id: first } } };
  const refused = [
    await ada.POST("/api/links/preview", { body: { url: "https://first.example" } }),
    await ada.PUT("/api/projects/{project_id}/links/moved", { ...params, body: { link: "url" } }),
    await admin.PUT("/api/review/projects/{project_id}/links/moved", { ...params, body: { link: "url" } }),
    await admin.PUT("/api/review/projects/{project_id}/links/due", params),
  ];
  expect("links", [refused.map(({ response }) => response.status), [409, 409, 409, 409]]);
}

/** An administrator picks a project, and takes the pick back. */
async function picks([first = 0]: number[]): Promise<void> {
  const params = { params: { path: { project_id: first } } };
  const picked = await good(admin.PUT("/api/review/projects/{project_id}/pick", { ...params, body: { words: "A light." } }));
  const listed = await good(anyone.GET("/api/projects", { params: { query: { picked: "true" } } }));
  expect("picked", [picked.picked?.words, "A light."], [listed.items.map((each) => each.id), [first]]);
  await good(admin.DELETE("/api/review/projects/{project_id}/pick", params));
}

async function votes([first = 0]: number[]): Promise<void> {
  const params = { params: { path: { project_id: first } } };
  expect("toggle", [(await good(bob.POST("/api/projects/{project_id}/upvote", params))).upvoted, true]);
  expect("clear", [(await good(bob.DELETE("/api/projects/{project_id}/upvote", params))).upvotes, 0]);
  expect("set", [(await good(bob.PUT("/api/projects/{project_id}/upvote", params))).upvotes, 1]);
  const upvoted = await good(bob.GET("/api/projects", { params: { query: { upvoted: "me" } } }));
  expect("upvoted", [upvoted.items.map((each) => each.id), [first]], [upvoted.items[0]?.has_upvoted, true]);
  expect("one", [(await good(anyone.GET("/api/projects/{project_id}", params))).upvotes, 1]);
  const counts = await good(ada.GET("/api/projects/counts", { params: { query: { owner: "me" } } }));
  expect("counts", [counts, { live: 1, pending: 0, rejected: 1 }]);
  const known = await good(bob.GET("/api/projects/check", { params: { query: { url: "http://first.example/", title: "First lamp" } } }));
  expect("check", [known.same.map((each) => each.id), [first]], [known.similar, []]);
  const facets = await good(anyone.GET("/api/projects/facets", { params: { query: { q: "lamp" } } }));
  expect("facets", [[...facets.categories, ...facets.tags].map((each) => each.live_projects), [1, 1]], [facets.capped, false]);
  const related = await good(anyone.GET("/api/projects/{project_id}/related", params));
  expect("related", [related.items, []]);
  const reported = await anyone.POST("/api/projects/{project_id}/reports", { ...params, body: { kind: "spam", text: "Look." } });
  expect("reported", [reported.response.status, 202]);
  const { items: reports } = await good(admin.GET("/api/review/reports", { params: { query: { kind: "spam" } } }));
  expect("reports", [reports.map(({ project, number }) => [project.id, number]), [[first, 1]]], [reports[0]?.texts[0]?.reporter, null]);
  const settled = await good(admin.PUT("/api/review/reports/{project_id}/settle", { ...params, body: { outcome: "unfounded" } }));
  expect("settled", [settled.outcome, "unfounded"]);
  const reply = await good(admin.POST("/api/review/replies", { body: { name: "Typed", decision: "reject", text: "Not {title}." } }));
  const reply_id = { params: { path: { reply_id: reply.id } } };
  await good(admin.PUT("/api/review/replies/{reply_id}", { ...reply_id, body: { decision: "unpublish" } }));
  const { items: replies } = await good(admin.GET("/api/review/replies"));
  expect("replies", [replies.find((each) => each.id === reply.id)?.decision, "unpublish"]);
  await good(admin.DELETE("/api/review/replies/{reply_id}", reply_id));
  const defined = { name: "license", label: "Licence", kind: "choice", choices: [{ value: "mit", label: "MIT" }] } as const;
  await good(admin.POST("/api/admin/fields", { body: { ...defined, choices: [...defined.choices] } }));
  const field = { params: { path: { field: "license" } } };
  await good(admin.PUT("/api/admin/fields/{field}", { ...field, body: { required: false } }));
  await good(admin.PUT("/api/admin/fields/order", { body: { order: ["license"] } }));
  const { items: fields } = await good(admin.GET("/api/admin/fields"));
  expect("fields", [fields.map((each) => each.name), [(await good(admin.GET("/api/admin/fields/{field}", field))).name]]);
  const { items: shown } = await good(anyone.GET("/api/fields"));
  expect("shown fields", [shown[0]?.choices, [{ value: "mit", label: "MIT" }]]);
  await good(admin.DELETE("/api/admin/fields/{field}", field));
  const tags = await good(anyone.GET("/api/tags", { params: { query: { prefix: "la", limit: 1 } } }));
  expect("tags", [tags.items, [{ tag: "lamp", live_projects: 1 }]]);
  const profile = await good(anyone.GET("/api/users/{username}", { params: { path: { username: "ada" } } }));
  expect("profile", [profile.live_projects, 1], [profile.upvotes_received, 1]);
}

/** An owner's changes of a live project wait next to it, and are withdrawn. */
async function held([first = 0]: number[]): Promise<void> {
  const params = { params: { path: { project_id: first } } };
  const edited = await good(ada.PUT("/api/projects/{project_id}", { ...params, body: { tagline: "Longer" } }));
  expect("held", [edited.tagline, "In short"], [edited.revision?.changes, { tagline: "Longer" }]);
  const { response } = await ada.DELETE("/api/projects/{project_id}/revision", params);
  expect("withdrawn", [response.status, 204]);
  expect("nothing is held", [(await good(ada.GET("/api/projects/{project_id}", params))).revision, null]);
}

/** A vote is shown to administrators, discounted, and counted again. */
async function judged([first = 0]: number[]): Promise<void> {
  const params = { path: { project_id: first } };
  const { items, summary } = await good(admin.GET("/api/admin/projects/{project_id}/votes", { params: { ...params, query: { counted: "true" } } }));
  expect("who voted", [items.map(({ user, counted }) => [user.username, counted]), [["bob", true]]], [summary.counted, 1], [summary.single_owner, 0]);
  const doubtful = (await good(admin.GET("/api/admin/projects/doubtful"))).items;
  expect("doubtful votes", [doubtful.map(({ id, counted, new_accounts }) => [id, counted, new_accounts]), [[first, 1, 1]]]);
  const path = "/api/admin/projects/{project_id}/votes/decisions";
  const discounted = await good(admin.POST(path, { params, body: { decision: "discount", match: ["new_accounts"], reason: "Too new" } }));
  expect("discounted", [discounted, { changed: 1, upvotes: 0 }]);
  const counted = await good(admin.POST(path, { params, body: { decision: "count", user_ids: items.map(({ user }) => user.id) } }));
  expect("counted again", [counted, { changed: 1, upvotes: 1 }]);
}

async function webhooks(): Promise<void> {
  const [endpoint] = (await good(admin.GET("/api/admin/webhooks/endpoints"))).items;
  expect("endpoint", [endpoint?.name, "ops"], [endpoint?.host, "127.0.0.1:9"], [(endpoint?.deliveries.pending ?? 0) > 0, true]);
  const params = { params: { path: { endpoint: "ops" } } };
  const sent = await good(admin.POST("/api/admin/webhooks/endpoints/{endpoint}/test", params));
  expect("test", [sent.event, "webhook.test"], [sent.project_id, null], [sent.payload.type, "webhook.test"]);
  const query = { endpoint: "ops", event: "webhook.test", state: "pending" } as const;
  const { items } = await good(admin.GET("/api/admin/webhooks/deliveries", { params: { query } }));
  expect("deliveries", [items.map((each) => each.id), [sent.id]], [Array.isArray(items[0]?.attempts), true]);
  await good(admin.POST("/api/admin/webhooks/deliveries/{delivery_id}/redeliver", { params: { path: { delivery_id: sent.id } } }));
}

const password = "correct horse battery";

async function accounts(): Promise<void> {
  expect("anonymous", [(await good(anyone.GET("/api/session"))).user, null]);
  expect("session", [(await good(ada.GET("/api/session"))).user?.username, "ada"]);
  const eve = await good(anyone.POST("/api/auth/register", { body: { username: "eve", email: "eve@example.org", password } }));
  await good(anyone.POST("/api/auth/login", { body: { login: "eve", password } }));
  const token = await good(bob.POST("/api/auth/tokens", { body: { name: "one" } }));
  expect("tokens", [(await good(bob.GET("/api/auth/tokens"))).items[0]?.id, token.id]);
  const { key } = await good(bob.POST("/api/auth/feed-key"));
  expect("feed key", [key.length, 43]);
  await good(bob.DELETE("/api/auth/feed-key"));
  await good(bob.DELETE("/api/auth/tokens/{token_id}", { params: { path: { token_id: token.id } } }));
  await good(bob.POST("/api/auth/login", { body: { login: "bob", password } }));
  const [session] = (await good(bob.GET("/api/auth/sessions"))).items;
  await good(bob.DELETE("/api/auth/sessions/{session_id}", { params: { path: { session_id: session?.id ?? 0 } } }));
  await good(bob.DELETE("/api/auth/sessions"));
  await good(bob.PUT("/api/auth/me", { body: { email: "new@example.org", current_password: password } }));
  expect("account", [(await good(bob.GET("/api/auth/me"))).email_verified, false]);
  await mailed();
  await provided();
  await submit(bob, "spam");
  const users = await good(admin.GET("/api/admin/users", { params: { query: { sort: "submissions", limit: 1 } } }));
  expect("users", [users.items[0]?.username, "ada"], [typeof users.items[0]?.last_seen_at, "string"]);
  const shown = await good(admin.GET("/api/admin/users/{user_id}", { params: { path: { user_id: eve.id } } }));
  expect("user", [shown.audit.map((entry) => entry.action), ["user.registered"]], [shown.stats.projects.total, 0]);
  const decided = await good(admin.POST("/api/admin/users/decisions", { body: { decision: "suspend", match: { q: "nobody at all", live: false } } }));
  expect("many users", [decided.changed, 0], [decided.remaining, 0]);
  await good(admin.DELETE("/api/admin/users/{user_id}/sessions", { params: { path: { user_id: eve.id } } }));
  await good(admin.DELETE("/api/admin/users/{user_id}", { params: { path: { user_id: eve.id } }, body: { reason: "Asked for" } }));
  await good(bob.POST("/api/auth/logout"));
}

/** What needs a link that was mailed is refused without one. */
async function mailed(): Promise<void> {
  await good(anyone.POST("/api/auth/password/forgot", { body: { login: "ada" } }));
  await good(bob.POST("/api/auth/email/verification"));
  const token = "made-up";
  const reset = await anyone.POST("/api/auth/password/reset", { body: { token, password: "nine blue paper boats" } });
  const verified = await anyone.POST("/api/auth/email/verify", { body: { token } });
  const off = await anyone.POST("/api/auth/notifications/{token}", { params: { path: { token } } });
  expect("without a link", [[reset, verified, off].map((each) => each.response.status), [422, 422, 404]]);
}

/** Nobody is at the provider, so the way there is begun and no more. */
async function provided(): Promise<void> {
  const { location } = await good(bob.POST("/api/auth/identities", { body: { provider: "github" } }));
  expect("provider", [new URL(location).host, "github.com"]);
  const own = await good(bob.GET("/api/auth/identities"));
  expect("identities", [own.items, []], [own.has_password, true]);
  const { response } = await bob.DELETE("/api/auth/identities/{identity_id}", { params: { path: { identity_id: 1 } } });
  expect("no identity", [response.status, 404]);
}

/** Nobody has an authenticator, and a token is no session, so what takes one of them is refused. */
async function keyless(): Promise<void> {
  expect("passkeys", [(await good(bob.GET("/api/auth/passkeys"))).items, []]);
  await good(anyone.POST("/api/auth/passkeys/login/options"));
  const path = { params: { path: { passkey_id: 1 } } }, credential = { id: "made-up" };
  const refused = [
    await bob.POST("/api/auth/passkeys/options"),
    await bob.POST("/api/auth/passkeys", { body: { credential, name: "Blue key" } }),
    await bob.PUT("/api/auth/passkeys/{passkey_id}", { ...path, body: { name: "Red key" } }),
    await bob.DELETE("/api/auth/passkeys/{passkey_id}", path),
    await anyone.POST("/api/auth/passkeys/login", { body: { credential } }),
  ];
  expect("without a passkey", [refused.map(({ response }) => response.status), [403, 403, 404, 404, 401]]);
}

/** Bytes that are not a picture are refused; to remove a logo that is not there is no error, to remove a picture it is. */
async function pictured(): Promise<void> {
  const path = { params: { path: { project_id: (await submit(ada, "pictured")).id } } };
  const { response } = await ada.PUT("/api/projects/{project_id}/logo", {
    ...path, body: "not a picture" as never, bodySerializer: (body: unknown) => body as string, headers: { "Content-Type": "image/png" },
  });
  expect("not a picture", [response.status, 422]);
  await good(ada.DELETE("/api/projects/{project_id}/logo", path));
  const refused = await ada.POST("/api/projects/{project_id}/pictures", {
    params: { ...path.params, query: { alt: "A window" } },
    body: "not a picture" as never, bodySerializer: (body: unknown) => body as string, headers: { "Content-Type": "image/png" },
  });
  const ordered = await good(ada.PUT("/api/projects/{project_id}/pictures", { ...path, body: { order: [] } }));
  const absent = { params: { path: { ...path.params.path, picture_id: 1 } } };
  const described = await ada.PUT("/api/projects/{project_id}/pictures/{picture_id}", { ...absent, body: { alt: "A door" } });
  const deleted = await ada.DELETE("/api/projects/{project_id}/pictures/{picture_id}", absent);
  expect("no pictures", [[refused, described, deleted].map(({ response }) => response.status), [422, 404, 404]]);
  expect("an empty list", [ordered.pictures.length, 0]);
}

async function takedown(): Promise<void> {
  const { items } = await good(admin.GET("/api/admin/users", { params: { query: { q: "bob" } } }));
  const body = { status: "suspended", unpublish: true, reason: "Spam" } as const;
  const params = { params: { path: { user_id: items[0]?.id ?? 0 } } };
  const suspended = await good(admin.PUT("/api/admin/users/{user_id}", { ...params, body }));
  expect("takedown", [suspended.taken_down, { unpublished: 0, rejected: 1, votes: 1 }]);
  const { response } = await bob.GET("/api/auth/me");
  expect("suspended", [response.status, 401]);
}

/** The day when a copy of the database leaks: everybody is signed out, and no token is valid, that of the request included. */
async function everybodyOut(): Promise<void> {
  await good(admin.DELETE("/api/admin/sessions"));
  await good(admin.DELETE("/api/admin/tokens"));
  expect("everybody out", [(await admin.GET("/api/auth/me")).response.status, 401]);
}

async function accountDeletion(): Promise<void> {
  const own = await good(ada.GET("/api/auth/me/export"));
  expect("export", [own.complete, true], [own.account.username, "ada"]);
  await good(ada.DELETE("/api/auth/me", { body: { current_password: password } }));
  const { response } = await ada.GET("/api/auth/me");
  expect("deleted", [response.status, 401]);
}

async function around(): Promise<void> {
  expect("health", [(await good(anyone.GET("/healthz"))).status, "ok"]);
  expect("ready", [(await good(anyone.GET("/readyz"))).checks?.database.ok, true]);
  await good(anyone.GET("/api/openapi.json"));
  const { html } = await good(anyone.POST("/api/markdown", { body: { text: "A **lamp**" } }));
  expect("markdown", [html, "<p dir=\"auto\">A <strong>lamp</strong></p>\n"]);
}

const ids = await submissions();
await review(ids);
await logs(ids);
await threads(ids);
await appeals(ids[1] ?? 0);
await picks(ids);
await links(ids);
await votes(ids);
await held(ids);
await judged(ids);
await webhooks();
await pictured();
await keyless();
await accounts();
await takedown();
await accountDeletion();
await around();
await everybodyOut();
console.log(JSON.stringify([...called]));
