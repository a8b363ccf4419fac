// The fields in their order, which two buttons of each row change.
import { api, ask, Problem } from "../../api/client.ts";
import { ask as question } from "../../console/dialog-state.ts";
import { Frame } from "../../console/frame.tsx";
import { Listing } from "../../console/listing.ts";
import { type Column, Listed } from "../../console/table.tsx";
import { w } from "../../console/text.ts";
import { say } from "../../state/notice.ts";
import type { Page } from "../../state/router.ts";
import { readOnly } from "../../state/session.ts";
import { t } from "../../text.ts";
import { type Field, said } from "./draft.ts";
import { Movers } from "./movers.tsx";
import { f } from "./text.ts";

const listing = new Listing<Field>("fields", [], (_wanted, signal) => ask(api.GET("/api/admin/fields", { signal })));
const columns: Column<Field>[] = [
  { name: f.label, kind: "wrap head", text: (each) => said(each.label), cell: (each) => <a href={`/admin/fields/of/${each.name}`} dir="auto">{said(each.label)}</a> },
  { name: f.name, text: (each) => each.name, cell: (each) => <code>{each.name}</code> },
  { name: f.kind, text: (each) => f.kinds[each.kind] },
  { name: f.uses, kind: "wrap", text: uses },
  { name: f.projects, kind: "number", text: (each) => each.projects, cell: (each) => <Used field={each} /> },
  { name: w.actions, kind: "unlabelled", cell: (each) => <Actions field={each} /> },
];

export const list: Page = {
  enter: (_match, query) => listing.enter(query),
  view: () => (
    <Frame title={f.title}>
      <Listed listing={listing} columns={columns} keyOf={(each) => each.name} none={f.none}><a class="button small primary" href="/admin/fields/new">{f.add}</a></Listed>
    </Frame>
  ),
  title: () => f.title,
};

function uses(field: Field): string {
  const flags = (Object.keys(f.short) as (keyof typeof f.short)[]).filter((name) => field[name]).map((name) => f.short[name]);
  return [...flags, ...(field.audience === "reviewers" ? [f.forReviewers] : []), ...(field.categories ?? [])].join(", ");
}

/** How many projects have a value, and on demand each choice. */
function Used({ field }: { field: Field }) {
  if (!field.choices.length) return <>{t.number(field.projects)}</>;
  return (
    <details class="changes">
      <summary>{t.number(field.projects)}</summary>
      <ul>{field.choices.map(({ value, label, projects }) => <li key={value}><bdi>{said(label)}</bdi>: {t.number(projects)}</li>)}</ul>
    </details>
  );
}

function Actions({ field }: { field: Field }) {
  const all = listing.rows.data.value?.items ?? [];
  const [place, label] = [all.indexOf(field), said(field.label)];
  return (
    <span class="acts">
      <Movers id={field.name} label={label} isFirst={place === 0} isLast={place === all.length - 1} move={(by) => move(all, place, by)} />
      <button type="button" class="link" aria-label={w.deleteOf(label)} disabled={readOnly.value} onClick={() => remove(field)}>{w.delete}</button>
    </span>
  );
}

let sending: Promise<void> = Promise.resolve();

/** Show the new order, and save it after those before it, so that fast keys end as they are shown. */
function move(all: readonly Field[], place: number, by: number): void {
  const items = [...all];
  items.splice(place + by, 0, ...items.splice(place, 1));
  const shown = listing.rows.data.peek();
  if (shown) listing.rows.set({ ...shown, items });
  sending = sending.then(() => save(items.map(({ name }) => name), f.moved(said(all[place]!.label), place + by + 1)));
}

async function save(order: string[], done: string): Promise<void> {
  try {
    await ask(api.PUT("/api/admin/fields/order", { body: { order } }));
    say(done);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    say(error.detail, { bad: true });
    void listing.again();
  }
}

function remove({ name, label, projects }: Field): void {
  question({
    title: w.deleteOf(said(label)), text: f.deleteWhy(projects), action: w.delete, danger: true,
    act: async () => {
      await ask(api.DELETE("/api/admin/fields/{field}", { params: { path: { field: name } } }));
      say(f.deleted(said(label)));
      void listing.again();
    },
  });
}
