// The saved replies: add, change, delete.
import { api, ask, type Schemas } from "../../api/client.ts";
import { ask as question, type DialogField } from "../../console/dialog-state.ts";
import { Frame } from "../../console/frame.tsx";
import { Listing } from "../../console/listing.ts";
import { changing, Listed, type Column } from "../../console/table.tsx";
import { w } from "../../console/text.ts";
import { say } from "../../state/notice.ts";
import type { Page } from "../../state/router.ts";
import { readOnly } from "../../state/session.ts";
import type { Reply } from "./replies.ts";
import { y } from "./text.ts";

const list = new Listing<Reply>("replies", [], (_wanted, signal) => ask(api.GET("/api/review/replies", { signal })));
const columns: Column<Reply>[] = [
  { name: w.name, kind: "wrap head", text: (each) => each.name, cell: (each) => <bdi>{each.name}</bdi> },
  { name: y.decision, text: (each) => y.decisions[each.decision] },
  { name: y.text, kind: "wrap", text: (each) => each.text, cell: (each) => <span dir="auto">{each.text}</span> },
  changing(change, remove),
];

export const savedReplies: Page = {
  enter: (_match, query) => list.enter(query),
  view: () => (
    <Frame title={y.title}>
      <Listed listing={list} columns={columns} keyOf={(each) => each.id} none={y.none}>
        <button type="button" class="button small primary" disabled={readOnly.value} onClick={add}>{y.add}</button>
      </Listed>
    </Frame>
  ),
  title: () => y.title,
};

function fields(reply?: Reply): DialogField[] {
  return [
    { name: "name", label: w.name, value: reply?.name },
    { name: "decision", label: y.decision, kind: "choice", value: reply?.decision, options: Object.entries(y.decisions) },
    { name: "text", label: y.text, kind: "text", value: reply?.text, hint: y.textHint },
  ];
}

function bodyOf({ name = "", decision, text = "" }: Record<string, string>): Schemas["ReplyInput"] {
  return { name: name.trim(), decision: decision as Reply["decision"], text };
}

function add(): void {
  question({
    title: y.add, action: w.save, fields: fields(),
    act: async (given) => done(await ask(api.POST("/api/review/replies", { body: bodyOf(given) }))),
  });
}

function change(reply: Reply): void {
  const params = { path: { reply_id: reply.id } };
  question({
    title: w.changeOf(reply.name), action: w.save, fields: fields(reply),
    act: async (given) => done(await ask(api.PUT("/api/review/replies/{reply_id}", { params, body: bodyOf(given) }))),
  });
}

function done({ name }: Reply): void {
  say(y.saved(name));
  void list.again();
}

function remove({ id, name }: Reply): void {
  question({
    title: w.deleteOf(name), text: y.deleteWhy, action: w.delete, danger: true,
    act: async () => {
      await ask(api.DELETE("/api/review/replies/{reply_id}", { params: { path: { reply_id: id } } }));
      say(y.deleted(name));
      void list.again();
    },
  });
}
