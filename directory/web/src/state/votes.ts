// Votes: shown at once, set and cleared by what is wanted, and taken back with the reason where one is refused.
import { signal, type Signal } from "@preact/signals";
import { api, ask, Problem } from "../api/client.ts";
import { t } from "../text.ts";
import { say } from "./notice.ts";
import { learn, onNewCaller, signedIn } from "./session.ts";

export interface Vote {
  on: boolean;
  count: number;
}
interface Votable {
  id: number;
  title: string;
  upvotes: number;
  has_upvoted: boolean | null;
}
interface Entry {
  shown: Signal<Vote>;
  known: Vote; // what the service said last
  wanted: boolean;
  busy: boolean;
  settled: number; // when the last vote was answered, by performance.now()
}

const entries = new Map<number, Entry>();

/** The vote of a project as it is shown. */
export function voteOf(project: Votable): Signal<Vote> {
  return entryOf(project).shown;
}

/** Take over what a read says of these projects, unless it `began` before the answer to a vote, or a vote is under way. */
export function note(projects: Votable[], began: number): void {
  for (const project of projects) {
    const entry = entryOf(project);
    if (entry.busy || began < entry.settled) continue;
    entry.known = read(project);
    if (entry.shown.value.on !== entry.known.on || entry.shown.value.count !== entry.known.count) {
      entry.shown.value = entry.known;
    }
  }
}

onNewCaller(() => entries.clear());

/** Vote for a project, or take the vote back; who is not signed in is asked to. */
export function vote(project: Votable, on: boolean): void {
  signedIn(() => void want(project, on));
}

async function want(project: Votable, on: boolean): Promise<void> {
  const entry = entryOf(project);
  entry.wanted = on;
  entry.shown.value = expected(entry);
  if (entry.busy) return; // the call that is under way goes on with it
  entry.busy = true;
  try {
    do {
      const options = { params: { path: { project_id: project.id } } };
      const path = "/api/projects/{project_id}/upvote";
      const answer = await ask(entry.wanted ? api.PUT(path, options) : api.DELETE(path, options));
      entry.known = { on: answer.upvoted, count: answer.upvotes };
    } while (entry.known.on !== entry.wanted);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    learn(error);
    say(t.voteRefused(project.title, error.detail), { bad: true });
  } finally {
    entry.busy = false;
    entry.settled = performance.now();
    entry.shown.value = entry.known;
  }
}

/** The vote as it will be if the service takes it. */
function expected({ known, wanted }: Entry): Vote {
  return { on: wanted, count: known.count + Number(wanted) - Number(known.on) };
}

function entryOf(project: Votable): Entry {
  let entry = entries.get(project.id);
  if (!entry) {
    const known = read(project);
    entry = { shown: signal(known), known, wanted: known.on, busy: false, settled: 0 };
    entries.set(project.id, entry);
  }
  return entry;
}

function read(project: Votable): Vote {
  return { on: project.has_upvoted ?? false, count: project.upvotes };
}
