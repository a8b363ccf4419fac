// The question before something is approved that was live once (taken down, or changed), or has warnings.
import { approving, confirmApproval } from "../state/queue-decisions.ts";
import { wasLive } from "../state/queue-record.ts";
import { itemOf } from "../state/queue.ts";
import { t } from "../text.ts";
import { Warnings } from "./queue-warnings.tsx";
import { r } from "./review-text.ts";
import { Sheet } from "./sheet.tsx";

export function ApprovalDialog() {
  const ids = approving.value;
  if (!ids) return null;
  const items = ids.flatMap((id) => itemOf(id) ?? []);
  const again = items.filter(wasLive).map((each) => each.title);
  return (
    <Sheet name="approve" title={r.approveAgain(ids.length, items[0]?.title ?? "")} close={close} onSubmit={submit}>
      {again.length > 0 && <p>{r.approveAgainWhy(again)}</p>}
      {items.filter((each) => each.warnings.length).map((each) => (
        <section key={each.id}>{ids.length > 1 && <h3 dir="auto">{each.title}</h3>}<Warnings item={each} /></section>
      ))}
      <p class="actions">
        <button type="submit" class="button primary good" autofocus>{ids.length > 1 ? r.approveMany(ids.length) : r.approve}</button>
        <button type="button" class="button" onClick={close}>{t.cancel}</button>
      </p>
    </Sheet>
  );
}

function close(): void {
  approving.value = null;
}

function submit(event: SubmitEvent): void {
  event.preventDefault();
  confirmApproval();
}
