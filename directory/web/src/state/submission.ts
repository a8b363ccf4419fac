// The form of a project: what is written, what is wrong with it, whether it is here already, and sending it.
import { batch, computed, signal } from "@preact/signals";
import { api, ask, askWhole, type Got, Problem, type Schemas } from "../api/client.ts";
import { f } from "../text.forms.ts";
import { type Draft, drop, EMPTY, type Name, store, stored, storedBase } from "./draft.ts";
import { check, FORM, toBody, toDraft } from "./form.ts";
import { chooseLogo, logo, problemOfLogo, sendLogo } from "./logo.ts";
import { sayThere } from "./notice.ts";
import { Resource } from "./resource.ts";
import { navigate } from "./router.ts";
import { afterSession, learn, onNewCaller, session, signedIn, user } from "./session.ts";
import { isAddress, isSame, withScheme } from "./tags.ts";
import { note } from "./votes.ts";

type Found = Got<"/api/projects/check">;
type Detail = Schemas["ProjectDetail"];
const PAUSE = 400; // milliseconds without a key before the directory is asked for the same project

export const draft = signal<Draft>({ ...EMPTY });
export const edited = new Resource<{ project: Detail; etag: string }>(); // the project that is changed; empty for a new one
export const theirs = signal<Draft | null>(null); // what another one saved while this was written
export const left = signal<ReadonlySet<string>>(new Set()); // fields that were left: their faults are shown from then on
export const refused = signal<Record<string, string>>({}); // what the service said of the fields
export const problem = signal<Problem | null>(null);
export const sending = signal(false);
export const found = new Resource<Found>(true);
let base = ""; // the version that the change began from: another one is shown beside it, after a reload too
let timer: ReturnType<typeof setTimeout> | undefined;

/** What is wrong with each field as it stands, in words. */
export const faults = computed(() => check(draft.value));

/** What is shown at the fields: what the service refused, and the faults of fields that were left. */
export const errors = computed(() => {
  const shown: Record<string, string> = { ...refused.value };
  for (const name of left.value) if (faults.value[name as Name]) shown[name] ??= faults.value[name as Name] as string;
  return shown;
});

onNewCaller(look); // who was signed out could not be told what is here already

/** Begin a new submission with the stored draft, or the change of a project. */
export function enterForm(id: number | null): void {
  batch(() => {
    left.value = new Set();
    refused.value = {};
    problem.value = theirs.value = null;
    chooseLogo(undefined);
    found.clear();
    if (id === null) {
      edited.clear();
      draft.value = stored();
    }
  });
  if (id === null) look();
  else {
    const loading = loadEdited(id);
    afterSession(takeUp); // where it is remembered, it shows at once
    void loading.then(() => afterSession(takeUp));
  }
}

async function loadEdited(id: number): Promise<void> {
  await edited.load(`edit ${id}`, async (signal) => {
    const options = { params: { path: { project_id: id } }, signal };
    const { data, response } = await askWhole(api.GET("/api/projects/{project_id}", options));
    return { project: data, etag: response.headers.get("ETag") ?? "" };
  });
}

/** Go on with the stored draft of the change, beside what was saved since it was begun; or begin with what is saved. */
function takeUp(): void {
  const loaded = edited.data.peek();
  if (!loaded) return;
  const began = storedBase(loaded.project.id);
  base = began ?? loaded.etag;
  batch(() => {
    draft.value = began === null ? toDraft(loaded.project) : stored(loaded.project.id);
    if (base !== loaded.etag) theirs.value = toDraft(loaded.project);
  });
}

/** Store the text of a field. After a pause similar projects are looked for, but not while a character is composed. */
export function write(name: Name, text: string, isComposing = false): void {
  const { [name]: _, ...others } = refused.peek();
  batch(() => {
    draft.value = { ...draft.peek(), [name]: text };
    refused.value = others;
  });
  keep();
  if (name !== "url" && name !== "title" && name !== "repository_url") return;
  clearTimeout(timer);
  if (!isComposing) timer = setTimeout(look, PAUSE);
}

/** Store what is written; of a change, with the version that it began from. */
function keep(): void {
  const before = edited.data.peek();
  if (before && !isChanged.peek()) drop(before.project.id);
  else store(draft.peek(), before?.project.id ?? null, before && base);
}

/** Whether what is written of a change differs from what is saved. */
export const isChanged = computed(() => {
  const before = edited.data.value;
  return !!before && JSON.stringify(draft.value) !== JSON.stringify(toDraft(before.project));
});

/** What is written, with the changes that were rejected; null where there are none, or the form has them. */
export const rejectedDraft = computed(() => {
  const project = edited.data.value?.project;
  const rejected = project?.revision?.rejected;
  if (!project || !rejected) return null;
  const wanted = toDraft({ ...project, revision: { changes: rejected, submitted_at: null, reason: null } });
  const [before, now] = [toDraft(project), draft.value];
  const taken = Object.fromEntries((Object.keys(now) as Name[]).map((name) => [name, wanted[name] === before[name] ? now[name] : wanted[name]])) as Draft;
  return JSON.stringify(taken) === JSON.stringify(now) ? null : taken;
});

/** Take over the changes that were rejected. */
export function takeRejected(): void {
  const taken = rejectedDraft.peek();
  if (!taken) return;
  draft.value = taken;
  keep();
  look();
}

export function leave(name: Name): void {
  if (FORM[name].link) {
    const full = withScheme(draft.peek()[name]);
    if (full !== draft.peek()[name]) write(name, full);
  }
  left.value = new Set([...left.peek(), name]);
}

export function discard(): void {
  const id = edited.data.peek()?.project.id ?? null;
  drop(id);
  enterForm(id);
}

/** Check whether the project exists already. Only members may, because the answer includes their own projects. */
function look(): void {
  clearTimeout(timer);
  const { url, title, repository_url: repository } = draft.peek();
  const addresses = { ...(isAddress(url) && { url: withScheme(url) }), ...(isAddress(repository) && { repository_url: withScheme(repository) }) };
  const query = { ...addresses, ...(title.trim().length > 2 && { title: title.trim().slice(0, 100) }) };
  if (!user.peek() || edited.data.peek() || !Object.keys(query).length) return found.clear();
  void found.load(`check ${JSON.stringify(query)}`, async (signal) => {
    const began = performance.now();
    const read = await ask(api.GET("/api/projects/check", { params: { query }, signal }));
    note([...read.same, ...(read.same_repository ?? []), ...read.similar], began);
    return read;
  });
}

/** Send what was written. Who is not signed in is asked to first. */
export function send(wrong: () => void): void {
  left.value = new Set(Object.keys(EMPTY));
  if (Object.keys(faults.peek()).length) return wrong();
  signedIn(() => void (edited.data.peek() ? change(wrong) : create(wrong)));
}

async function create(wrong: () => void): Promise<void> {
  await attempt(wrong, async () => {
    const { id, slug, title } = await ask(api.POST("/api/projects", { body: toBody(draft.peek()) }));
    drop();
    const wrongLogo = await problemOfLogo(id);
    sayThere(wrongLogo ? f.logoRefused(wrongLogo) : f.sent(title));
    navigate(`/p/${id}/${slug}`);
  });
}

async function change(wrong: () => void): Promise<void> {
  const before = edited.data.peek();
  if (!before) return;
  const mayWait = review.peek() !== "no";
  await attempt(wrong, async () => {
    if (await sendLogo(before.project.id, before.etag)) await loadEdited(before.project.id);
    base = edited.data.peek()?.etag ?? before.etag;
    const options = { params: { path: { project_id: before.project.id } }, headers: { "If-Match": base } };
    const after = await ask(api.PUT("/api/projects/{project_id}", { ...options, body: toBody(draft.peek()) }));
    drop(after.id);
    sayThere(mayWait && isSent(before.project, after) ? f.savedReview : f.saved);
    navigate(`/p/${after.id}/${after.slug}`);
  });
}

async function attempt(wrong: () => void, act: () => Promise<void>): Promise<void> {
  if (sending.peek()) return;
  sending.value = true;
  problem.value = null;
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    learn(error);
    batch(() => {
      refused.value = error.fields;
      problem.value = error;
    });
    if (error.status === 412 && edited.data.peek()) await compare(edited.data.peek()!.project.id);
    wrong();
  } finally {
    sending.value = false;
  }
}

/** Read the version that another one saved meanwhile, and show it beside what is written, which stays. */
async function compare(id: number): Promise<void> {
  await loadEdited(id);
  const loaded = edited.data.peek();
  if (loaded) theirs.value = toDraft(loaded.project);
}

/** Whether what is written goes to a reviewer. Of an address alone the service decides: it knows more that are the same. */
export const review = computed<"yes" | "no" | "perhaps">(() => {
  const project = edited.data.value?.project;
  if (!project || project.status !== "live") return project?.status === "rejected" ? "yes" : "no";
  const reviewed: readonly string[] = session.value?.reviewed_fields ?? [];
  if (reviewed.includes("logo") && (logo.value === "remove" ? project.logo : logo.value)) return "yes";
  const [live, saved] = [toBody(toDraft({ ...project, revision: null })), toBody(toDraft(project))];
  const changed = Object.entries(toBody(draft.value)).filter(([name, value]) => reviewed.includes(name)
    && [live, saved].every((each) => JSON.stringify(value) !== JSON.stringify(each[name as Name]))
    && !(name === "url" && isSame(value as string, live.url)));
  return changed.some(([name]) => name !== "url") ? "yes" : changed.length ? "perhaps" : "no";
});

/** Whether an edit has left something that a reviewer has to look at. */
function isSent(before: Detail, after: Detail): boolean {
  if (after.status !== "live") return after.status === "pending";
  return !!after.revision?.submitted_at && JSON.stringify(after.revision.changes) !== JSON.stringify(before.revision?.changes);
}

/** The caller's own project that conflicts with this one, from the refusal. */
export function existing(refusal: Problem | null): { id: number; title: string; status: string } | null {
  return refusal?.body.existing ?? null;
}

