// The filters of a list, which the address has, and the text that is typed into their fields.
import { signal } from "@preact/signals";
import { address, navigate, withQuery } from "./router.ts";

export interface Filter {
  name: string;
  /** What it is called, if the console's own texts do not say it. */
  label?: string;
  /** The values that it has. An address with any other is read as one without it. */
  values?: readonly string[];
  /** What its values are called here, where that is another name than elsewhere. */
  named?: Readonly<Record<string, string>>;
  /** What the choice of no value is called, if it is not all. */
  unset?: string;
  /** The values that are known once they are read, each with its name. */
  choices?: () => readonly (readonly [string, string])[];
  /** What its text looks like. Nothing matches any other text. */
  pattern?: RegExp;
  /** Whether it is a day, "2026-11-20". */
  isDay?: boolean;
  /** Whether links alone set it: it has no field unless it is set. */
  fromLinks?: boolean;
}

export type Wanted = Record<string, string>;
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
    wanted[name] = name === "owner" ? value.toLowerCase() : value;
  }
  const cursor = query.get("cursor");
  return cursor ? { ...wanted, cursor } : wanted;
}

export class Filtering {
  readonly typed = signal<Wanted>({}); // the text in each text field
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `path`: where the list is, if its page has other addresses too. */
  constructor(public filters: readonly Filter[], private readonly path = "") {}

  /** What the present address asks for, as a key. */
  get key(): string {
    return keyOf(wantedBy(address.value.searchParams, this.filters));
  }

  /** Whether a filter is set; the order is none. */
  get filtered(): boolean {
    return this.filters.some(({ name }) => name !== "sort" && address.value.searchParams.get(name));
  }

  /** The address of the list without filters. */
  get whole(): string {
    return this.path || address.value.pathname;
  }

  /** Show in the fields what an address asks for. */
  take(query: URLSearchParams): void {
    clearTimeout(this.#timer);
    const typed: Wanted = {};
    for (const { name } of this.#texts()) {
      const [now, before] = [query.get(name) ?? "", this.typed.peek()[name] ?? ""];
      typed[name] = now.trim() === before.trim() ? before : now;
    }
    this.typed.value = typed;
  }

  /** Take over what was typed into a text field. It is looked for after a pause, but not while a character is composed. */
  type(name: string, text: string, isComposing = false): void {
    const { pathname } = address.peek();
    this.typed.value = { ...this.typed.peek(), [name]: text };
    clearTimeout(this.#timer);
    if (!isComposing) this.#timer = setTimeout(() => address.peek().pathname.startsWith(this.path || pathname) && this.apply(), PAUSE);
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
    const to = withQuery({ ...texts, ...changes, cursor: "" }, this.whole);
    const grows = !Object.keys(changes).length && Object.keys(texts).some((name) => texts[name] && before.get(name) && texts[name] !== before.get(name));
    if (to !== pathname + search) navigate(to, { replace: grows });
  }

  #texts(): readonly Filter[] {
    return this.filters.filter((each) => !each.values && !each.choices);
  }
}

export function keyOf(wanted: Wanted | null): string {
  return wanted ? new URLSearchParams(wanted).toString() : "none";
}
