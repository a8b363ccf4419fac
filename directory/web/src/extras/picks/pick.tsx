// The pick of the live project that is shown: its words, and what changes it.
import { api, ask } from "../../api/client.ts";
import { act, ask as question } from "../../console/dialog-state.ts";
import { Time } from "../../parts/time.tsx";
import { say } from "../../state/notice.ts";
import { history } from "../../state/queue-history.ts";
import { patch } from "../../state/queue-record.ts";
import { type Item, item } from "../../state/queue.ts";
import { readOnly } from "../../state/session.ts";
import { p } from "./text.ts";

export function Pick({ item: shown }: { item: Item }) {
  const { picked } = shown;
  return (
    <div class="banner">
      {picked && <p><strong>{p.isPicked}</strong> <Time at={picked.at} /> <span dir="auto">{picked.words}</span></p>}
      <p class="actions">
        <button type="button" class="button small" disabled={readOnly.value} onClick={() => askForWords(shown)}>{picked ? p.change : p.pick} <kbd>p</kbd></button>
        {picked && <button type="button" class="button small" disabled={readOnly.value} onClick={() => void act("pick", () => unpick(shown))}>{p.unpick}</button>}
      </p>
    </div>
  );
}

export function askAboutShown(): void {
  const shown = item.peek();
  if (shown?.status === "live") askForWords(shown);
}

function askForWords({ id, title, picked }: Item): void {
  if (readOnly.peek()) return;
  question({
    title: p.pickOf(title),
    action: picked ? p.change : p.pick,
    fields: [{ name: "words", label: p.words, hint: p.wordsHint, value: picked?.words ?? "" }],
    act: async ({ words = "" }) => {
      patch(id, await ask(api.PUT("/api/review/projects/{project_id}/pick", { params: { path: { project_id: id } }, body: { words } })));
      say(p.picked(title));
      void history.again();
    },
  });
}

async function unpick({ id }: Item): Promise<void> {
  await ask(api.DELETE("/api/review/projects/{project_id}/pick", { params: { path: { project_id: id } } }));
  patch(id, { picked: null });
  void history.again();
}
