// A table of the console: its address says what it shows, and a cursor which page of it.
import { signal } from "@preact/signals";
import type { paths } from "../api/schema.d.ts";
import { Resource } from "../state/resource.ts";
import { address, navigate, withQuery } from "../state/router.ts";
import { afterSession, isAdministrator, onNewCaller, withSession } from "../state/session.ts";

/** The query parameters of a path that is read. */
export type Query<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Parameters } } }
  ? NonNullable<Parameters> : never;

export interface Filter {
  name: string;
  /** The values that it has. An address with any other is read as one without it. */
  values?: readonly string[];
  /** What its values are called here, where that is another name than elsewhere. */
  named?: Readonly<Record<string, string>>;
  /** The values that are known once they are read, each with its name. */
  choices?: () => readonly (readonly [string, string])[];
  /** What its text looks like. Nothing matches any other text. */
  pattern?: RegExp;
  /** Whether it is a day, "2026-11-20". */
  isDay?: boolean;
  /** Whether links alone set it: it has no field unless it is set. */
  fromLinks?: boolean;
}

export interface Shown<Row> {
  items: readonly Row[];
  next: string | null;
  previous: string | null;
  /** How many there are on all pages, where that is counted. */
  total: number | null;
  capped: boolean;
  /** What was asked for. */
  of: string;
}

type Wanted = Record<string, string>;
interface Answer<Row> {
  items: readonly Row[];
  pagination?: { next_cursor: string | null; prev_cursor: string | null; total?: number; total_capped?: boolean };
}

const PAUSE = 250; // milliseconds without a key before typed text is looked for
export const ID = /^[1-9]\d{0,17}$/;
export const DAY = /^\d{4}-\d\d-\d\d$/;

/** What an address asks of a table. Null: a text that nothing matches. */
export function wantedBy(query: URLSearchParams, filters: readonly Filter[]): Wanted | null {
  const wanted: Wanted = {};
  for (const { name, values, pattern } of filters) {
    const value = (query.get(name) ?? "").trim();
    if (!value || (values && !values.includes(value))) continue;
    if (pattern && !pattern.test(value)) return null;
    wanted[name] = value;
  }
  const cursor = query.get("cursor");
  return cursor ? { ...wanted, cursor } : wanted;
}

export class Listing<Row> {
  readonly rows = new Resource<Shown<Row>>(true);
  readonly typed = signal<Wanted>({}); // the text in each text field
  readonly selected = signal<ReadonlySet<string | number>>(new Set());
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `read` gets the parameters for the API, as the filters name them, and `cursor`. */
  constructor(
    readonly name: string,
    readonly filters: readonly Filter[],
    private readonly read: (wanted: Wanted, signal: AbortSignal) => Promise<Answer<Row>>,
  ) {
    onNewCaller(() => this.rows.clear());
  }

  /** What the present address asks for, as a key. */
  get key(): string {
    return keyOf(wantedBy(address.value.searchParams, this.filters));
  }

  /** Whether a filter is set; the order is none. */
  get filtered(): boolean {
    return this.filters.some(({ name }) => name !== "sort" && address.value.searchParams.get(name));
  }

  /** Show what an address asks for. */
  enter(query: URLSearchParams): void {
    clearTimeout(this.#timer);
    this.selected.value = new Set();
    const typed: Wanted = {};
    for (const { name } of this.#texts()) {
      const [now, before] = [query.get(name) ?? "", this.typed.peek()[name] ?? ""];
      typed[name] = now.trim() === before.trim() ? before : now;
    }
    this.typed.value = typed;
    const wanted = wantedBy(query, this.filters);
    afterSession(() => isAdministrator.peek() && void this.rows.load(`${this.name} ${keyOf(wanted)}`, (signal) => this.#page(wanted, signal)));
  }

  /** Take over what was typed into a text field. It is looked for after a pause, but not while a character is composed. */
  type(name: string, text: string, isComposing = false): void {
    const { pathname } = address.peek();
    this.typed.value = { ...this.typed.peek(), [name]: text };
    clearTimeout(this.#timer);
    if (!isComposing) this.#timer = setTimeout(() => address.peek().pathname === pathname && this.apply(), PAUSE);
  }

  /** Set a filter; what was typed stays. */
  choose(name: string, value: string): void {
    this.apply({ [name]: value });
  }

  /** Go to the first page of what the filters say. An address of a text in progress takes the place of the one before. */
  apply(changes: Wanted = {}): void {
    clearTimeout(this.#timer);
    const texts = Object.fromEntries(this.#texts().map(({ name }) => [name, (this.typed.peek()[name] ?? "").trim()]));
    const { searchParams: before, pathname, search } = address.peek();
    const to = withQuery({ ...texts, ...changes, cursor: "" });
    const grows = !Object.keys(changes).length && Object.keys(texts).some((name) => texts[name] && before.get(name) && texts[name] !== before.get(name));
    if (to !== pathname + search) navigate(to, { replace: grows });
  }

  /** Read the page again. */
  again(): Promise<void> {
    return this.rows.again();
  }

  #texts(): readonly Filter[] {
    return this.filters.filter((each) => !each.values && !each.choices);
  }

  async #page(wanted: Wanted | null, signal: AbortSignal): Promise<Shown<Row>> {
    const { items, pagination } = wanted ? await withSession(this.read(wanted, signal)) : { items: [], pagination: undefined };
    return {
      items,
      next: pagination?.next_cursor ?? null,
      previous: pagination?.prev_cursor ?? null,
      total: pagination ? pagination.total ?? null : items.length,
      capped: pagination?.total_capped ?? false,
      of: keyOf(wanted),
    };
  }
}

function keyOf(wanted: Wanted | null): string {
  return wanted ? new URLSearchParams(wanted).toString() : "none";
}
