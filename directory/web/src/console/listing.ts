// A table of the console: its address says what it shows, and a cursor which page of it.
import { type ReadonlySignal, signal } from "@preact/signals";
import type { paths } from "../api/schema.d.ts";
import { type Filter, Filtering, keyOf, type Wanted, wantedBy } from "../state/filtering.ts";
import { Resource } from "../state/resource.ts";
import { afterSession, isAdministrator, onNewCaller, withSession } from "../state/session.ts";

/** The query parameters of a path that is read. */
export type Query<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Parameters } } }
  ? NonNullable<Parameters> : never;

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

interface Answer<Row> {
  items: readonly Row[];
  pagination?: { next_cursor: string | null; prev_cursor: string | null; total?: number; total_capped?: boolean };
}

export class Listing<Row> extends Filtering {
  readonly rows = new Resource<Shown<Row>>(true);
  readonly selected = signal<ReadonlySet<string | number>>(new Set());

  /** `read` gets the parameters for the API, as the filters name them, and `cursor`. `may`: whether the caller may read. */
  constructor(
    readonly name: string,
    filters: readonly Filter[],
    private readonly read: (wanted: Wanted, signal: AbortSignal) => Promise<Answer<Row>>,
    private readonly may: ReadonlySignal<boolean> = isAdministrator,
  ) {
    super(filters);
    onNewCaller(() => this.rows.clear());
  }

  /** Show what an address asks for. */
  enter(query: URLSearchParams): void {
    this.selected.value = new Set();
    this.take(query);
    const wanted = wantedBy(query, this.filters);
    afterSession(() => this.may.peek() && void this.rows.load(`${this.name} ${keyOf(wanted)}`, (signal) => this.#page(wanted, signal)));
  }

  /** Read the page again. */
  again(): Promise<void> {
    return this.rows.again();
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
