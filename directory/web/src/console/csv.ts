// Tables as CSV (RFC 4180), safe to open in a spreadsheet.
export type Cell = string | number | null;

// A spreadsheet reads a cell that begins so as a formula (OWASP, "CSV Injection"), also in full width and after spaces.
const FORMULA = /^(?:[\t\r\n]|[\s\u0000]*[=+\-@\uff1d\uff0b\uff0d\uff20])/;
const BOM = "\ufeff"; // by it Excel reads the file as UTF-8

/** The file: its first row holds the names of the columns. Text that begins as a formula gets an apostrophe before it. */
export function csvOf(names: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return BOM + [names, ...rows].map((row) => row.map(quoted).join(",") + "\r\n").join("");
}

function quoted(cell: Cell): string {
  if (typeof cell === "number") return String(cell);
  const text = cell ?? "";
  return `"${(FORMULA.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

/** A column of a table, with its cell in a file. Without `text` the column is not in the file. */
export interface CsvColumn<Row> {
  name: string;
  text?: (row: Row) => Cell;
}

/** Rows of a table as a file. */
export function tableCsv<Row>(columns: readonly CsvColumn<Row>[], rows: readonly Row[]): string {
  const included = columns.filter((each) => each.text);
  return csvOf(included.map((each) => each.name), rows.map((row) => included.map((each) => each.text!(row))));
}

/** "users-2026-11-23.csv" */
export function fileName(table: string, now = new Date()): string {
  return `${table}-${now.toISOString().slice(0, 10)}.csv`;
}

/** Give a file to the browser to save. */
export function download(name: string, ...parts: (string | Blob)[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
