// What the log tells of a project in review: its last decision, what changed since, and other submissions of its URL.
import type { Schemas } from "../api/client.ts";

export type Entry = Schemas["Audit"];
type Shown = Pick<Schemas["QueueItem"], (typeof FIELDS)[number]>;
export interface Change {
  field: string;
  from: string;
  to: string;
}
/** Another submission of the same URL. */
export interface Other {
  id: number;
  /** That it was deleted, its last decision, or else its newest entry. */
  last: Entry;
}
export interface Story {
  id: number;
  /** Its own entries, newest first. */
  own: Entry[];
  /** The last decision about it; null where there was none yet. */
  decided: Entry | null;
  /** What its edits changed since that decision. */
  changes: Change[];
  others: Other[];
  /** The newest entry that is later than the version which is shown, if it is an edit or a decision. */
  later: Entry | null;
}

const DECISIONS = ["project.approved", "project.rejected", "project.unpublished"];

export function isDecision(entry: Entry): boolean {
  return DECISIONS.includes(entry.action);
}

/** The story of a project whose version of `shownAt` is on the screen; `entries` are newest first. */
export function storyOf(entries: readonly Entry[], id: number, shownAt: string): Story {
  const own = entries.filter((entry) => entry.project_id === id);
  const place = own.findIndex(isDecision);
  const since = place < 0 ? [] : own.slice(0, place);
  const changed = (entry: Entry) => isDecision(entry) || entry.action === "project.edited" || entry.action === "project.deleted";
  return {
    id,
    own,
    decided: own[place] ?? null,
    changes: changesOf(since),
    others: othersOf(entries, id),
    later: own.find((entry) => changed(entry) && entry.at > shownAt) ?? null,
  };
}

/** What edits, newest first, changed together: a field that ended as it began did not change. */
export function changesOf(edits: readonly Entry[]): Change[] {
  const found = new Map<string, Change>();
  for (const { changes } of [...edits].reverse()) {
    for (const [field, { from, to }] of Object.entries(changes ?? {})) {
      found.set(field, { field, from: found.get(field)?.from ?? written(from), to: written(to) });
    }
  }
  return [...found.values()].filter(({ from, to }) => from !== to);
}

function othersOf(entries: readonly Entry[], id: number): Other[] {
  const found = new Map<number, Other>();
  for (const entry of entries) {
    const other = entry.project_id;
    if (!other || other === id || found.has(other)) continue;
    const last = entries.find((each) => each.project_id === other && isDecision(each)) ?? entry;
    found.set(other, { id: other, last: entry.action === "project.deleted" ? entry : last });
  }
  return [...found.values()];
}

const FIELDS = ["title", "tagline", "url", "repository_url", "logo_url", "category", "tags", "description"] as const;

/** The fields in which two versions of a project differ. */
export function differences(from: Shown, to: Shown): Change[] {
  const text = (project: Shown, field: (typeof FIELDS)[number]) => written(field === "category" ? project.category.slug : project[field]);
  return FIELDS.map((field) => ({ field, from: text(from, field), to: text(to, field) })).filter((each) => each.from !== each.to);
}

function written(value: unknown): string {
  return Array.isArray(value) ? value.join(", ") : value == null ? "" : String(value);
}
