// The rules that judge what members submit, edit and register, with what each has matched.
import { api, ask, type Schemas } from "../../api/client.ts";
import { say } from "../../state/notice.ts";
import type { Page } from "../../state/router.ts";
import { readOnly } from "../../state/session.ts";
import { ask as question } from "../../console/dialog-state.ts";
import { Frame } from "../../console/frame.tsx";
import { Listing } from "../../console/listing.ts";
import { u } from "./text.ts";
import { Listed, type Column } from "../../console/table.tsx";
import { w } from "../../console/text.ts";

type Rule = Schemas["Rule"];
const list = new Listing<Rule>("rules", [], (_wanted, signal) => ask(api.GET("/api/admin/rules", { signal })));
const columns: Column<Rule>[] = [
  { name: u.name, kind: "wrap head", text: (each) => each.name, cell: (each) => <a href={`/admin/rules/${each.id}`} dir="auto">{each.name}</a> },
  { name: u.state, text: (each) => u.states[each.state], cell: (each) => <span class={`badge ${{ on: "live", dry: "pending", off: "" }[each.state]}`}>{u.states[each.state]}</span> },
  { name: u.then, text: (each) => u.effects[each.then] },
  { name: u.on, kind: "minor", text: (each) => each.on.map((kind) => u.kinds[kind]).join(", ") },
  { name: u.conditions, kind: "wrap", text: sentences, cell: (each) => <ul>{each.when.map(({ fact, is, value }, place) => <li key={place}>{u.condition(fact, is, value)}</li>)}</ul> },
  { name: u.month, kind: "number", text: matched, cell: (each) => <Month days={each.days} /> },
  { name: w.actions, kind: "unlabelled", cell: (each) => <Actions rule={each} /> },
];

export const rules: Page = {
  enter: (_match, query) => list.enter(query),
  view: () => (
    <Frame title={u.title}>
      <Listed listing={list} columns={columns} keyOf={(each) => each.id} none={u.none}><a class="button small primary" href="/admin/rules/new">{u.add}</a></Listed>
    </Frame>
  ),
  title: () => u.title,
};

function sentences({ when }: Rule): string {
  return when.map(({ fact, is, value }) => u.condition(fact, is, value)).join("; ");
}

function matched({ days }: Rule): number {
  return days.reduce((sum, day) => sum + day.matched, 0);
}

/** The matches of thirty days: their number, and on demand those of each day that has some. */
function Month({ days }: Pick<Rule, "days">) {
  const some = days.filter((each) => each.matched);
  const number = some.reduce((sum, each) => sum + each.matched, 0);
  if (!number) return <>0</>;
  return (
    <details class="changes">
      <summary>{u.days(number)}</summary>
      <ul>{some.map(({ date, matched }) => <li key={date}>{w.day(date)}: {matched}</li>)}</ul>
    </details>
  );
}

function Actions({ rule }: { rule: Rule }) {
  const act = (name: string, ask: () => void) => (
    <button type="button" class="link" aria-label={`${name} ${rule.name}`} disabled={readOnly.value} onClick={ask}>{name}</button>
  );
  return (
    <span class="acts">
      <a href={`/admin/rules/${rule.id}`} aria-label={`${u.change} ${rule.name}`}>{u.change}</a>
      {rule.then !== "mark" && act(u.revert, () => revert(rule))}
      {act(u.delete, () => remove(rule))}
    </span>
  );
}

function remove({ id, name }: Rule): void {
  question({
    title: u.deleteOf(name), text: u.deleteWhy, action: u.delete, danger: true,
    act: async () => {
      await ask(api.DELETE("/api/admin/rules/{rule_id}", { params: { path: { rule_id: id } } }));
      say(u.deleted(name));
      void list.again();
    },
  });
}

/** Undo what a rule did, a portion after the other. What was undone stays so, whatever comes between. */
function revert({ id, name }: Rule): void {
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  question({
    title: u.revertOf(name), text: u.revertWhy, action: u.revertDo, danger: true,
    fields: [{ name: "since", label: u.since, value: yesterday }],
    act: async ({ since = "" }) => {
      let number = 0;
      for (;;) {
        const portion = await ask(api.POST("/api/admin/rules/{rule_id}/revert", { params: { path: { rule_id: id } }, body: { since } }));
        number += portion.number;
        say(u.reverted(number));
        if (!portion.number) return;
      }
    },
  });
}
