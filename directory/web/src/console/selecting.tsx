// Rows of a table that are selected, and what can be done with them.
import type { ComponentChildren } from "preact";
import type { Listing } from "./listing.ts";
import { r } from "./review-text.ts";

export type Key = string | number;

/** How the rows of a table are selected. */
export interface Selecting<Row> {
  nameOf: (row: Row) => string;
  /** The buttons for what is selected. */
  actions: (rows: readonly Row[]) => ComponentChildren;
}

export function SelectAll<Row>({ listing, keys }: { listing: Listing<Row>; keys: readonly Key[] }) {
  const isAll = keys.every((key) => listing.selected.value.has(key));
  const toggle = () => (listing.selected.value = new Set(isAll ? [] : keys));
  return <label class="pick"><input type="checkbox" checked={isAll} aria-label={r.selectAll} onClick={toggle} /></label>;
}

export function SelectRow<Row>({ listing, id, name }: { listing: Listing<Row>; id: Key; name: string }) {
  const isSelected = listing.selected.value.has(id);
  const toggle = () => {
    const others = [...listing.selected.peek()].filter((key) => key !== id);
    listing.selected.value = new Set(isSelected ? others : [...others, id]);
  };
  return <label class="pick"><input type="checkbox" checked={isSelected} aria-label={r.select(name)} onClick={toggle} /></label>;
}

/** How many rows are selected, and the buttons for them. */
export function Selected<Row>({ listing, rows, children }: { listing: Listing<Row>; rows: readonly Row[]; children: ComponentChildren }) {
  return (
    <div class="selection" role="group" aria-label={r.selection}>
      <strong class="small">{r.selected(rows.length)}</strong>
      {children}
      <button type="button" class="button small ghost" onClick={() => (listing.selected.value = new Set())}>{r.clear}</button>
    </div>
  );
}
