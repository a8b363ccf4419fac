// A rule as it is written in the form: its conditions row by row, and what a preview of them found.
import { batch, signal } from "@preact/signals";
import { api, ask, Problem, type Schemas } from "../../api/client.ts";
import { Resource } from "../../state/resource.ts";
import { afterSession, isAdministrator, onNewCaller, withSession } from "../../state/session.ts";

export type Rule = Schemas["Rule"];
export type Fact = Schemas["RuleFact"];
export type Found = Schemas["RulePreview"];
type Input = Schemas["RuleInput"];
type Condition = Input["when"][number];
/** A condition in the form: its value is the text in the field. */
export interface Row {
  key: number;
  fact: Condition["fact"];
  is: Condition["is"];
  text: string;
}

export const facts = new Resource<readonly Fact[]>();
export const saved = new Resource<Rule | null>(); // null: a new one
export const rows = signal<readonly Row[]>([]);
export const preview = new Resource<Found>(true);
export const refused = signal<Problem | null>(null);
export const effect = signal<Rule["then"]>("hold");
let keys = 0;

onNewCaller(() => {
  for (const each of [facts, saved, preview]) each.clear();
});

/** Show a rule in the form; 0 for a new one. */
export function enterRule(id: number): void {
  batch(() => {
    refused.value = null;
    saved.clear();
    preview.clear();
  });
  afterSession(() => {
    if (!isAdministrator.peek()) return;
    void facts.load("rule facts", async (signal) => (await withSession(ask(api.GET("/api/admin/rules/facts", { signal })))).items);
    void saved.load(`rule ${id}`, (signal) => read(id, signal));
  });
}

async function read(id: number, signal: AbortSignal): Promise<Rule | null> {
  const rule = id ? await withSession(ask(api.GET("/api/admin/rules/{rule_id}", { params: { path: { rule_id: id } }, signal }))) : null;
  batch(() => {
    effect.value = rule?.then ?? "hold";
    rows.value = rule ? rule.when.map(({ fact, is, value }) => ({ key: ++keys, fact, is, text: written(value) })) : [fresh()];
  });
  return rule;
}

function fresh(): Row {
  return { key: ++keys, fact: "account_hours", is: "<", text: "24" };
}

function written(value: unknown): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

export function addRow(): void {
  rows.value = [...rows.peek(), fresh()];
}

export function removeRow(key: number): void {
  rows.value = rows.peek().filter((each) => each.key !== key);
}

/** Change a condition. One about another fact begins with its first comparison, and without a value. */
export function changeRow(key: number, changes: Partial<Row>): void {
  rows.value = rows.peek().map((each) => {
    if (each.key !== key) return each;
    if (!changes.fact || changes.fact === each.fact) return { ...each, ...changes };
    const fact = factOf(changes.fact);
    return { ...each, fact: changes.fact, is: fact?.is[0] ?? "=", text: fact?.type === "truth" ? "true" : "" };
  });
}

export function factOf(name: string): Fact | undefined {
  return facts.data.value?.find((each) => each.fact === name);
}

/** The conditions as the API takes them. */
export function conditions(): Condition[] {
  return rows.peek().map(({ fact, is, text }) => ({ fact, is, value: valueOf(text, is, factOf(fact)?.type) }));
}

function valueOf(text: string, is: string, type: Fact["type"] | undefined): Condition["value"] {
  if (type === "truth") return text === "true";
  if (type === "number") return text.trim() === "" ? "" : Number(text);
  return is === "=" ? text.trim() : text.split(/[,\n]/).map((each) => each.trim()).filter(Boolean);
}

/** Preview the rule of the form over so many days. */
export async function runPreview(rule: Input, days: number): Promise<boolean> {
  return attempt(async () => preview.set(await ask(api.POST("/api/admin/rules/preview", { body: { rule, days } }))));
}

/** Save the rule of the form, and return it; null where it was refused. */
export async function saveRule(rule: Input): Promise<Rule | null> {
  const id = saved.data.peek()?.id;
  let found: Rule | null = null;
  await attempt(async () => {
    const params = { path: { rule_id: id ?? 0 } };
    found = await ask(id ? api.PUT("/api/admin/rules/{rule_id}", { params, body: rule }) : api.POST("/api/admin/rules", { body: rule }));
  });
  return found;
}

async function attempt(doing: () => Promise<void>): Promise<boolean> {
  refused.value = null;
  try {
    await doing();
    return true;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    refused.value = error;
    return false;
  }
}

/** Why the rule was refused, by the place in it, such as "when/0/value". */
export function errorAt(place: string): string | undefined {
  const errors: { pointer?: string; detail: string }[] = refused.value?.body.errors ?? [];
  const found = errors.filter(({ pointer = "" }) => pointer.replace(/^#\/(rule\/)?|(?<=\/value)\/\d+$/g, "") === place);
  return found.length ? found.map((each) => each.detail).join(" ") : undefined;
}
