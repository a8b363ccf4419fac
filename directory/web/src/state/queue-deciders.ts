// Who decided about a project. An answer of 200 says that a decision holds, and not whose it was: the log does.
import { api, ask, Problem, type Schemas } from "../api/client.ts";
import { decided, decidedChanges } from "../api/events.ts";
import { isDecision, type Entry, waits } from "./queue-story.ts";
import { isAdministrator } from "./session.ts";

export type Decider = Entry;
type Answer = Schemas["Decision"];

const [MOST, FEW] = [100, 20]; // entries

/** The last decision about each of the projects that an answer says are decided; of `edits` about their changes. */
export async function deciders(answers: readonly Answer[], decision: keyof typeof decided, edits: readonly number[]): Promise<Map<number, Entry>> {
  const found = new Map<number, Entry>();
  const held = answers.filter((each) => each.status === 200).map((each) => each.id);
  const others = answers.filter((each) => each.status === 409 || (each.status === 412 && !(each.project && waits(each.project))));
  try {
    await Promise.all([
      holders(found, held.filter((id) => !edits.includes(id)), decided[decision]),
      holders(found, held.filter((id) => edits.includes(id)), { ...decided, ...decidedChanges }[decision]),
      ...others.map(({ id }) => last(found, id)),
    ]);
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // the decisions hold; only whose they are stays unknown
  }
  return found;
}

/** Find whose the decisions are that hold: administrators by the log's newest, and one by one what those leave out. */
async function holders(found: Map<number, Entry>, ids: readonly number[], action: Entry["action"]): Promise<void> {
  if (ids.length > 1 && isAdministrator.peek()) {
    note(found, (await ask(api.GET("/api/admin/audit", { params: { query: { action, limit: MOST } } }))).items, ids);
  }
  await Promise.all(ids.filter((id) => !found.has(id)).map((id) => last(found, id)));
}

/** Find the last decision about a project. */
async function last(found: Map<number, Entry>, id: number): Promise<void> {
  const params = { path: { project_id: id }, query: { limit: FEW } };
  note(found, (await ask(api.GET("/api/review/projects/{project_id}/history", { params }))).items, [id]);
}

/** Keep the newest decision about each of the projects; `entries` are newest first. */
function note(found: Map<number, Entry>, entries: readonly Entry[], wanted: readonly number[]): void {
  for (const entry of entries) {
    const id = entry.project_id ?? 0;
    if (isDecision(entry) && wanted.includes(id) && !found.has(id)) found.set(id, entry);
  }
}
