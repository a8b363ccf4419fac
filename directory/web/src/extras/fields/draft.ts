// A field as it is written in the form, and its choices row by row.
import { batch, signal } from "@preact/signals";
import { api, ask, Problem, type Schemas } from "../../api/client.ts";
import { loadCategories } from "../../state/categories.ts";
import { Resource } from "../../state/resource.ts";
import { afterSession, isAdministrator, onNewCaller, session, withSession } from "../../state/session.ts";
import { forgetLabels } from "./labels.ts";

export type Field = Schemas["AdminField"];
export type Words = Field["label"];
type Choice = Omit<Field["choices"][number], "label"> & { label: Words };
/** A choice in the form. One that is `kept` is stored, and keeps its value. */
export type Row = Choice & { key: number; kept: boolean };
export type Draft = Omit<Field, "choices" | "projects">;

const EMPTY: Draft = {
  name: "", label: "", help: "", kind: "choice", required: false, material: true, audience: "public", facet: true, in_list: false,
  search: false, categories: null, retired: false,
};
export const WITH_CHOICES: readonly string[] = ["choice", "choices"];
/** The kinds that cannot have a flag. */
export const WITHOUT: Record<string, readonly string[]> = { facet: ["text", "url"], search: ["url", "number", "date", "truth"] };
export const saved = new Resource<Field | null>(); // null: a new one
export const draft = signal<Draft>(EMPTY);
export const rows = signal<readonly Row[]>([]);
export const refused = signal<Problem | null>(null);
let keys = 0;

onNewCaller(() => saved.clear());

/** A text in the site's language. */
export function said(words: Words): string {
  if (typeof words === "string") return words;
  return words[languages()[0]?.tag ?? ""] ?? Object.values(words)[0] ?? "";
}

/** The languages of the site, its own one first. */
export function languages(): readonly Schemas["Language"][] {
  return session.value?.languages ?? [];
}

/** A text with another one in a language. One without any others is a text alone. */
export function withWords(words: Words, tag: string, text: string): Words {
  const own = languages()[0]?.tag ?? "";
  const others = { ...(typeof words === "string" ? { [own]: words } : words), [tag]: text };
  const left = Object.fromEntries(Object.entries(others).filter(([each, said]) => said || each === own));
  return Object.keys(left).length > 1 ? left : left[own] ?? "";
}

/** Show a field in the form; "" for a new one. */
export function enterField(name: string): void {
  batch(() => {
    refused.value = null;
    saved.clear();
  });
  afterSession(() => {
    if (!isAdministrator.peek()) return;
    loadCategories();
    void saved.load(`field ${name}`, (signal) => read(name, signal));
  });
}

async function read(name: string, signal: AbortSignal): Promise<Field | null> {
  const params = { path: { field: name } };
  const found = name ? await withSession(ask(api.GET("/api/admin/fields/{field}", { params, signal }))) : null;
  batch(() => {
    const { choices = [], projects: _, ...others } = found ?? {};
    draft.value = { ...EMPTY, ...others };
    rows.value = found ? choices.map((each) => ({ ...each, key: ++keys, kept: true })) : [fresh()];
  });
  return found;
}

function fresh(): Row {
  return { key: ++keys, kept: false, value: "", label: "", retired: false, projects: 0 };
}

export function change(given: Partial<Draft>): void {
  draft.value = { ...draft.peek(), ...given };
}

export function addRow(): void {
  rows.value = [...rows.peek(), fresh()];
}

export function changeRow(key: number, given: Partial<Row>): void {
  rows.value = rows.peek().map((each) => (each.key === key ? { ...each, ...given } : each));
}

export function removeRow(key: number): void {
  rows.value = rows.peek().filter((each) => each.key !== key);
}

/** What a label spells as a value or a name. */
export function slug(words: Words, between: string): string {
  const text = said(words).normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return text.replaceAll("-", between).slice(0, 40);
}

export function moveRow(place: number, by: number): void {
  const list = [...rows.peek()];
  list.splice(place + by, 0, ...list.splice(place, 1));
  rows.value = list;
}

/** Save the field of the form, and return it; null where it was refused. */
export async function saveField(): Promise<Field | null> {
  const { name, kind, ...others } = draft.peek();
  const choices = rows.peek().map(({ value, label, retired }) => ({ value: value.trim(), label, retired }));
  const flags = Object.fromEntries(Object.entries(WITHOUT).filter(([, kinds]) => kinds.includes(kind)).map(([flag]) => [flag, false]));
  const given = { ...others, ...flags, ...(WITH_CHOICES.includes(kind) ? { choices } : {}) };
  refused.value = null;
  forgetLabels();
  try {
    if (!saved.data.peek()) return await ask(api.POST("/api/admin/fields", { body: { ...given, name, kind } }));
    return await ask(api.PUT("/api/admin/fields/{field}", { params: { path: { field: name } }, body: given }));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    refused.value = error;
    return null;
  }
}

/** Why the field was refused, by the place in it, such as "choices/0"; also for what lies below, unless it is `alone`. */
export function errorAt(place: string, alone = false): string | undefined {
  const errors: { pointer?: string; detail: string }[] = refused.value?.body.errors ?? [];
  const found = errors.filter(({ pointer = "" }) => pointer === `#/${place}` || (!alone && pointer.startsWith(`#/${place}/`)));
  return found.length ? found.map((each) => each.detail).join(" ") : undefined;
}
