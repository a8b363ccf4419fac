// The log of a project in review: its last decision, the changes since, and other submissions of its URL.
import type { Schemas } from "../api/client.ts";
import { decided, decidedChanges, edits } from "../api/events.ts";
import { r } from "../console/review-text.ts";

export type Entry = Schemas["Audit"];
type Shown = Pick<Schemas["QueueItem"], keyof Schemas["RevisionChanges"]>;
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
  /** Whether a rule rejected it, and nobody has decided, edited or appealed since. */
  isRejectedByRule: boolean;
  /** The newest entry that is later than the version which is shown, if it is an edit or a decision. */
  later: Entry | null;
}

const DECISIONS: readonly string[] = [...Object.values(decided), ...Object.values(decidedChanges)];

export function isDecision(entry: Entry): boolean {
  return DECISIONS.includes(entry.action);
}

/** Whether a project, or changes of it, wait for review, and no appeal about it is open. */
export function waits({ review }: Pick<Schemas["ProjectDetail"], "review">): boolean {
  return Boolean(review) && review?.waiting_for !== "appeal";
}

/** Since when an item waits. */
export function since({ status, revision, submitted_at }: Pick<Schemas["ProjectDetail"], "status" | "revision" | "submitted_at">): string {
  return (status !== "pending" && revision?.submitted_at) || submitted_at;
}

/** The story of a project as it is on the screen; `entries` are newest first. */
export function storyOf(entries: readonly Entry[], shown: Pick<Schemas["QueueItem"], "id" | "updated_at" | "revision" | "review" | "status">): Story {
  const { id, updated_at: shownAt, review } = shown;
  const held = shown.revision?.changes ?? {};
  const own = entries.filter((entry) => entry.project_id === id);
  const place = own.findIndex(isDecision);
  const since = place < 0 ? [] : own.slice(0, place);
  const changed = (entry: Entry) => isDecision(entry) || edits.includes(entry.action) || entry.action === "project.deleted";
  const newest = own.find(changed);
  return {
    id,
    own,
    decided: own[place] ?? null,
    changes: changesOf(since),
    others: othersOf(entries, id),
    isRejectedByRule: isRejectedByRule(own, shown),
    later: newest && newest.at > shownAt && !isShown(newest, held) && !isOver(newest, own, review) ? newest : null,
  };
}

function isRejectedByRule(own: readonly Entry[], { status, revision }: Pick<Schemas["QueueItem"], "status" | "revision">): boolean {
  const last = own.find((entry) => isDecision(entry) || edits.includes(entry.action) || entry.action.startsWith("project.appeal"));
  const rejection = status === "live" ? revision?.rejected && decidedChanges.reject : status === "rejected" && decided.reject;
  return Boolean(last?.rule_id) && last?.action === rejection;
}

/** Whether a request for changes is part of what is shown, which waits for its owner or was given back: the text stays. */
function isOver({ action, at }: Entry, own: readonly Entry[], review: Schemas["QueueItem"]["review"]): boolean {
  if (action !== decided.request_changes) return false;
  return review?.waiting_for === "owner" || own.some((each) => each.action === "project.resubmitted" && each.at >= at);
}

/** Whether an edit of the changes that wait is part of those that are shown. */
function isShown({ action, changes }: Entry, held: Record<string, unknown>): boolean {
  const waits = flat(held);
  return action === "project.edit_held" && changesIn(changes).every(([field, { from, to }]) => written(field in waits ? waits[field] : from) === written(to));
}

/** The changes of a live project that wait, from what it shows. */
export function heldChanges(project: Shown & Pick<Schemas["QueueItem"], "revision">): Change[] {
  const held = flat(project.revision?.changes ?? {});
  return [...FIELDS, ...ownIn(held)].filter((field) => field in held).map((field) => ({ field, from: textOf(project, field), to: written(held[field]) }));
}

/** What waits now in another way than when the reviewer looked. */
export function newlyHeld(seen: Parameters<typeof heldChanges>[0], now: Parameters<typeof heldChanges>[0]): Change[] {
  const [before, after] = [heldChanges(seen), heldChanges(now)];
  const toOf = (changes: Change[], field: string) => changes.find((each) => each.field === field)?.to;
  const own = [...before, ...after].map(({ field }) => field).filter((field) => field.startsWith(OWN));
  return [...new Set([...FIELDS, ...own])].map((field) => ({ field, from: toOf(before, field) ?? textOf(seen, field), to: toOf(after, field) ?? textOf(now, field) }))
    .filter((each) => each.from !== each.to && (toOf(before, each.field) ?? toOf(after, each.field)) !== undefined);
}

/** What edits, newest first, changed together: a field that ended as it began did not change. */
export function changesOf(edits: readonly Entry[]): Change[] {
  const found = new Map<string, Change>();
  for (const { changes } of [...edits].reverse()) {
    for (const [field, { from, to }] of changesIn(changes)) {
      const none = field === "review_categories" ? r.everyCategory : "";
      found.set(field, { field, from: found.get(field)?.from ?? (written(from) || none), to: written(to) || none });
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

const OWN = "fields."; // what stands before the name of an own field
const FIELDS = Object.keys(r.fields).filter((field) => field !== "fields");

/** Values, or changes, by field, each own field by its name behind OWN. */
function flat(values: object): Record<string, unknown> {
  const { fields, ...others } = values as Record<string, unknown>;
  return { ...others, ...Object.fromEntries(Object.entries(fields ?? {}).map(([name, value]) => [OWN + name, value])) };
}

/** The values of own fields, as texts. */
export function valuesOf({ fields }: Pick<Shown, "fields">): [string, string][] {
  return Object.entries(flat({ fields })).map(([name, value]) => [name, written(value)]);
}

function ownIn(values: Record<string, unknown>): string[] {
  return Object.keys(values).filter((field) => field.startsWith(OWN));
}

function changesIn(changes: Entry["changes"]): [string, { from?: unknown; to?: unknown }][] {
  return Object.entries(flat(changes ?? {})) as [string, { from?: unknown; to?: unknown }][];
}

/** The fields in which two versions of a project differ. */
export function differences(from: Shown, to: Shown): Change[] {
  const own = [from, to].flatMap((each) => ownIn(flat({ fields: each.fields })));
  return [...new Set([...FIELDS, ...own])].map((field) => ({ field, from: textOf(from, field), to: textOf(to, field) })).filter((each) => each.from !== each.to);
}

function textOf(project: Shown, field: string): string {
  return written(field === "category" ? project.category.slug : flat(project)[field]);
}

/** A list of pictures as a text: a line for each, with its address and its words. */
export function picturesOf(pictures: Schemas["ProjectDetail"]["pictures"]): string {
  return pictures.map((each) => `${each["640"]} ${each.alt}`).join("\n");
}

function written(value: unknown): string {
  if (Array.isArray(value)) return value.some((each) => typeof each === "object") ? picturesOf(value) : value.join(", ");
  if (typeof value === "object" && value) return String((value as Record<string, unknown>)["256"]); // a logo, by the address of its picture
  return value == null ? "" : String(value);
}
