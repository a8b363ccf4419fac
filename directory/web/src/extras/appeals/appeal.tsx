// The open appeal about the item that is shown: whether the decision stays, with a reason for the owner.
import { api, ask } from "../../api/client.ts";
import { ask as question } from "../../console/dialog-state.ts";
import { say } from "../../state/notice.ts";
import { history } from "../../state/queue-history.ts";
import { drop, type Item, move, readItem } from "../../state/queue.ts";
import { isInLane } from "../../state/queue-address.ts";
import { patch } from "../../state/queue-record.ts";
import { readOnly } from "../../state/session.ts";
import { a } from "./text.ts";

const OUTCOMES = ["reversed", "upheld"] as const;
type Outcome = (typeof OUTCOMES)[number];

export function Appeal({ item: shown }: { item: Item }) {
  return (
    <section class="banner pending">
      <div class="grow">
        <h3>{a.title}</h3>
        <p>{a.why[shown.status]}</p>
        <p class="actions">
          {OUTCOMES.map((each) => (
            <button key={each} type="button" class="button" disabled={readOnly.value} onClick={() => settle(shown, each)}>{a.settle[each]}</button>
          ))}
        </p>
      </div>
    </section>
  );
}

function settle({ id, title, version }: Item, outcome: Outcome): void {
  question({
    title: a.settleOf[outcome](title),
    action: a.settle[outcome],
    fields: [{ name: "reason", label: a.reason, hint: a.reasonHint, kind: "text" }],
    act: async ({ reason = "" }) => {
      const params = { path: { project_id: id }, header: { "If-Match": `"${version}"` } };
      await ask(api.PUT("/api/review/projects/{project_id}/appeal", { params, body: { outcome, reason } }));
      say(a.settled[outcome](title));
      if (isInLane("appeal")) leave(id);
      else await again(id);
    },
  });
}

/** Show the next appeal. */
function leave(id: number): void {
  move(1);
  drop([id]);
}

async function again(id: number): Promise<void> {
  patch(id, await readItem(id));
  void history.again();
}
