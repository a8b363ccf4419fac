// The question before something is approved that was live once: it was taken down, or changed.
import { approving, confirmApproval } from "../state/queue-decisions.ts";
import { wasLive } from "../state/queue-record.ts";
import { itemOf } from "../state/queue.ts";
import { t } from "../text.ts";
import { r } from "./review-text.ts";
import { Sheet } from "./sheet.tsx";

export function ApprovalDialog() {
  const ids = approving.value;
  if (!ids) return null;
  const titles = ids.flatMap((id) => (wasLive(itemOf(id)) ? [itemOf(id)?.title ?? ""] : []));
  return (
    <Sheet name="approve" title={r.approveAgain(ids.length, titles[0] ?? "")} close={close} onSubmit={submit}>
      <p>{r.approveAgainWhy(titles)}</p>
      <p class="actions">
        <button type="submit" class="button primary" autofocus>{ids.length > 1 ? r.approveMany(ids.length) : r.approve}</button>
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
