// The pick of the live project that is shown: its words, and the dialog that changes them.
import { api, ask } from "../../api/client.ts";
import { ask as question } from "../../console/dialog-state.ts";
import { history } from "../../state/queue-history.ts";
import { patch } from "../../state/queue-record.ts";
import { type Item, item } from "../../state/queue.ts";
import { readOnly } from "../../state/session.ts";
import { p } from "./text.ts";

export function Pick({ item: { picked } }: { item: Item }) {
  return (
    <div class="banner">
      {picked && <p><strong>{p.picked}</strong> <span dir="auto">{picked.words}</span></p>}
      <button type="button" class="button small" disabled={readOnly.value} onClick={askAboutShown}>{p.pick} <kbd>p</kbd></button>
    </div>
  );
}

export function askAboutShown(): void {
  const shown = item.peek();
  if (shown?.status !== "live" || readOnly.peek()) return;
  const { id, title, picked } = shown;
  const params = { path: { project_id: id } };
  question({
    title: p.pickOf(title),
    action: p.pick,
    fields: [{ name: "words", label: p.words, hint: p.hint, value: picked?.words, optional: true }],
    act: async ({ words }) => {
      if (words) patch(id, await ask(api.PUT("/api/review/projects/{project_id}/pick", { params, body: { words } })));
      else {
        await ask(api.DELETE("/api/review/projects/{project_id}/pick", { params }));
        patch(id, { picked: null });
      }
      void history.again();
    },
  });
}
