// What an extra adds to the console.
import type { ComponentChildren } from "preact";
import type { Filter } from "../state/filtering.ts";
import type { Item } from "../state/queue.ts";
import type { Page } from "../state/router.ts";

/** The project that a text is about. */
export type Named = { title: string; owner: { username: string } };
export type SavedText = { id: number; name: string; text: string };
export interface MenuProps {
  decision: string;
  project: Named;
  take: (text: string) => void;
}

export interface MenuEntry {
  path: string;
  name: string;
  /** The path of the entry before it. */
  after: string;
  /** Whether it is for reviewers too. */
  reviews?: boolean;
  /** How much waits there; null while the page is switched off. */
  waiting?: () => number | null | undefined;
}

export interface Extra {
  /** Its name in EXTRAS. */
  name: string;
  /** Its pages: the addresses, the title until a page is loaded, and the page. */
  pages?: { pattern: RegExp; title: string; load: () => Promise<Page> }[];
  /** Its entries in the navigation. */
  menu?: MenuEntry[];
  /** A filter of the queue. */
  filter?: Filter;
  /** A filter of the list of all projects. */
  ofAll?: Filter;
  /** Its keys at the queue: what each does, in words and in fact. */
  keys?: Record<string, { does: string; act: () => void }>;
  /** A ranking on the dashboard: `load` asks for its data. */
  ranking?: { load: () => void; view: () => ComponentChildren };
  /** Where an administrator sees who voted for a project, and what that link says. */
  votes?: (project: { id: number; title: string; upvotes: number }) => { href: string; label: string };
  /** Texts to choose from, of a decision: those that were read, what one says about a project, and a menu of them. */
  saved?: {
    title: string;
    load: () => Promise<void>;
    of: (decision: string) => readonly SavedText[];
    filled: (text: string, project: Named) => string;
    Menu: (props: MenuProps) => ComponentChildren;
  };
  /** What the pane of a live item shows of its pick. */
  picks?: { Pick: (props: { item: Item }) => ComponentChildren };
  /** What the pane of an item shows of its links, and the sign of a dead one on the row of a project. */
  links?: Record<"Seen" | "Sign", (props: { item: Item }) => ComponentChildren>;
  /** What people read of the operator's own fields, by their places such as "fields.license", and of their values. */
  own?: { labelOf: (place: string) => string | undefined; labelOfValue: (place: string, text: string) => string };
  /** Whether owners may appeal, and what settles the appeal that is open about an item of the queue. */
  appeals?: { areOn: () => boolean; Settle: (props: { item: Item }) => ComponentChildren };
  /** Who looks at an item: whether that can be said of it, what is known, and what is shown above it, among its actions and on its row. */
  claims?: { isPossible: (item: Item) => boolean; of: (item?: Item) => Partial<Item> } & Record<"Looks" | "Button" | "Sign", (props: { item: Item }) => ComponentChildren>;
}

/** What one of the extras adds. It is here, and filled by index.ts, since modules that the extras import read it too. */
export const added: Pick<Extra, "keys" | "saved" | "appeals" | "claims" | "picks" | "links" | "own"> = {};
