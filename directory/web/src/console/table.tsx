// A table of the console: filters, rows, pages, and the rows as a file.
import type { ComponentChildren } from "preact";
import { Empty, Failed, Stale } from "../parts/states.tsx";
import type { Filter, Filtering } from "../state/filtering.ts";
import { address, withQuery } from "../state/router.ts";
import { readOnly } from "../state/session.ts";
import { t } from "../text.ts";
import { type Cell, type CsvColumn, download, fileName, tableCsv } from "./csv.ts";
import type { Listing, Shown } from "./listing.ts";
import { SelectAll, Selected, SelectRow, type Key, type Selecting } from "./selecting.tsx";
import { w } from "./text.ts";

/** Its text is also what the page shows where `cell` is not given. */
export interface Column<Row> extends CsvColumn<Row> {
  cell?: (row: Row) => ComponentChildren;
  /** The values of `sort` that order by it. */
  sort?: { ascending?: string; descending?: string };
  /** `file`: in the file alone. Others are classes: `number` is set to the right, `wrap` breaks long words; on a narrow
   *  page `head` is the heading of its row, `unlabelled` stands without its name, and `minor` is left out. */
  kind?: string;
}

/** The buttons that change and delete a row, as its last column. */
export function changing<Row extends { name: string }>(change: (row: Row) => void, remove: (row: Row) => void): Column<Row> {
  return {
    name: w.actions, kind: "unlabelled",
    cell: (each) => (
      <span class="acts">
        <button type="button" class="link" aria-label={w.changeOf(each.name)} disabled={readOnly.value} onClick={() => change(each)}>{w.change}</button>
        <button type="button" class="link" aria-label={w.deleteOf(each.name)} disabled={readOnly.value} onClick={() => remove(each)}>{w.delete}</button>
      </span>
    ),
  };
}

interface TableProps<Row> {
  listing: Listing<Row>;
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => Key;
  /** What is said where there is none at all. */
  none: { title: string; why: string };
  /** What stands below a row that is open. */
  below?: (row: Row) => ComponentChildren;
  selecting?: Selecting<Row>;
  /** The button that saves all that the filters find, in place of the one that saves the rows that are shown. */
  exporting?: ComponentChildren;
  children?: ComponentChildren;
}

export function Listed<Row>(props: TableProps<Row>) {
  return (
    <>
      <Filters listing={props.listing} />
      <Content {...props} />
    </>
  );
}

function Content<Row>(props: TableProps<Row>) {
  const { listing, none, children, selecting, exporting, keyOf } = props;
  const shown = listing.rows.data.value;
  const problem = listing.rows.problem.value;
  const again = () => void listing.again();
  if (problem?.status === 422) return <Empty title={problem.title} why={Object.values(problem.fields).join(" ") || problem.detail}><ShowAll /></Empty>;
  // What was shown for other filters does not answer these.
  if (problem && shown?.of !== listing.key) return <Failed problem={problem} again={again} />;
  if (!shown) return <TableSkeleton />;
  const chosen = shown.items.filter((each) => listing.selected.value.has(keyOf(each)));
  return (
    <>
      {problem && <Stale problem={problem} again={again} />}
      <div class="above">
        <p role="status">{listing.rows.busy.value && shown.of !== listing.key ? t.loading : w.shown(shown.items.length, shown.total, shown.capped)}</p>
        {children}
        {exporting ?? (
          <button type="button" class="button small" disabled={!shown.items.length} onClick={() => save(props, shown.items)}>
            {shown.next || shown.previous ? w.exportShown(shown.items.length) : w.export}
          </button>
        )}
      </div>
      {selecting && chosen.length > 0 && <Selected listing={listing} rows={chosen}>{selecting.actions(chosen)}</Selected>}
      {shown.items.length ? <Rows {...props} items={shown.items} />
        : shown.next ? <Empty title={w.nothingYet} why={w.nothingYetWhy} />
        : listing.filtered || address.value.searchParams.has("cursor") ? <Empty title={w.nothing} why={w.nothingWhy}><ShowAll /></Empty>
        : <Empty title={none.title} why={none.why}><a class="button" href="/admin">{w.toDashboard}</a></Empty>}
      <Pages shown={shown} />
    </>
  );
}

function ShowAll() {
  return <a class="button" href={address.value.pathname}>{w.showAll}</a>;
}

function TableSkeleton() {
  return (
    <div class="table-skeleton skeleton" role="status" aria-busy="true" aria-label={t.loading}>
      {Array.from({ length: 8 }, (_, place) => <span class="line long" key={place} />)}
    </div>
  );
}

function save<Row>({ listing, columns }: TableProps<Row>, rows: readonly Row[]): void {
  download(fileName(listing.name), tableCsv(columns, rows));
}

// The elements have explicit roles: on a narrow page their style is not that of a table, but they still are one.
function Rows<Row>({ listing, columns, keyOf, below, selecting, items }: TableProps<Row> & { items: readonly Row[] }) {
  const seen = columns.filter((each) => each.kind !== "file");
  return (
    <div class="scroll">
      <table class="list" role="table" aria-busy={listing.rows.busy.value}>
        <thead role="rowgroup"><tr role="row">
          {selecting && <th role="columnheader" scope="col" class="picks"><SelectAll listing={listing} keys={items.map(keyOf)} /></th>}
          {seen.map((each) => <Heading key={each.name} column={each} />)}
        </tr></thead>
        <tbody role="rowgroup">
          {items.map((row) => {
            const opened = below?.(row);
            return [
              <tr role="row" key={keyOf(row)} class={listing.selected.value.has(keyOf(row)) ? "selected" : undefined}>
                {selecting && <td role="cell" class="picks"><SelectRow listing={listing} id={keyOf(row)} name={selecting.nameOf(row)} /></td>}
                {seen.map((each) => (
                  <td role="cell" key={each.name} class={each.kind} data-label={each.name}><div>{each.cell ? each.cell(row) : shownText(each.text?.(row))}</div></td>
                ))}
              </tr>,
              opened && <tr role="row" class="below" key={`${keyOf(row)} below`}><td role="cell" colSpan={seen.length}>{opened}</td></tr>,
            ];
          })}
        </tbody>
      </table>
    </div>
  );
}

function shownText(text: Cell | undefined): string {
  return typeof text === "number" ? t.number(text) : text || w.empty;
}

function Heading<Row>({ column: { name, sort, kind } }: { column: Column<Row> }) {
  const now = address.value.searchParams.get("sort") ?? "";
  const order = !sort || !now ? undefined : now === sort.ascending ? "ascending" : now === sort.descending ? "descending" : undefined;
  const next = sort && (order === "descending" ? sort.ascending ?? sort.descending : order ? sort.descending ?? sort.ascending : sort.descending ?? sort.ascending);
  return (
    <th role="columnheader" scope="col" class={kind} aria-sort={order}>
      {next ? <a href={withQuery({ sort: next, cursor: "" })}>{name}<span aria-hidden="true">{order ? (order === "ascending" ? " ↑" : " ↓") : ""}</span></a> : name}
    </th>
  );
}

function Pages({ shown }: { shown: Shown<unknown> }) {
  if (!shown.next && !shown.previous) return null;
  const upward = () => void requestAnimationFrame(() => {
    scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true }); // the link may be gone on the other page
  });
  return (
    <nav class="pages" aria-label={w.pagesOf}>
      {shown.previous && <a class="button" rel="prev" href={withQuery({ cursor: shown.previous })} onClick={upward}>{w.previous}</a>}
      {shown.next && <a class="button" rel="next" href={withQuery({ cursor: shown.next })} onClick={upward}>{w.next}</a>}
    </nav>
  );
}

export function Filters({ listing }: { listing: Filtering }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    listing.apply();
  };
  return (
    <form class="filters" role="search" aria-label={w.filters} onSubmit={submit}>
      {listing.filters.filter((each) => !each.fromLinks || address.value.searchParams.has(each.name)).map((each) => <Control key={each.name} filter={each} listing={listing} />)}
      {listing.filtered && <a class="button clear" href={listing.whole}>{w.clear}</a>}
    </form>
  );
}

function Control({ filter, listing }: { filter: Filter; listing: Filtering }) {
  const { name, values, named, choices, pattern, isDay } = filter;
  const id = `filter-${name}`;
  const label = filter.label ?? w.filter[name] ?? name;
  const now = address.value.searchParams.get(name) ?? "";
  if (!values && !choices) {
    const typed = listing.typed.value[name] ?? "";
    const wrong = pattern && typed.trim() !== "" && !pattern.test(typed.trim());
    return (
      <div class={`filter${name === "q" ? " grow" : ""}`}>
        <label for={id}>{label}</label>
        {isDay ? <input id={id} name={name} type="date" value={typed} onInput={(event) => listing.type(name, event.currentTarget.value)} /> : (
          <input id={id} name={name} type="search" value={typed} maxLength={200} autocomplete="off" autocapitalize="none"
            spellcheck={false} aria-invalid={wrong || undefined} onInput={(event) => listing.type(name, event.currentTarget.value, event.isComposing)}
            onCompositionEnd={(event) => listing.type(name, event.currentTarget.value)} />
        )}
      </div>
    );
  }
  const known = choices ? choices() : values!.map((value) => [value, named?.[value] ?? w.values[value] ?? value] as const);
  const missing = now && !known.some(([value]) => value === now) && choices;
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select id={id} name={name} value={now} onChange={(event) => listing.choose(name, event.currentTarget.value)}>
        <option value="">{filter.unset ?? (name === "sort" ? w.usual : t.all)}</option>
        {missing && <option value={now}>{now}</option>}
        {known.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </div>
  );
}
