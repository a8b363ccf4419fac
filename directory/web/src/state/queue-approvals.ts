// Approvals, where more than one person has to approve.
import type { Schemas } from "../api/client.ts";
import { user } from "./session.ts";

type Approved = Pick<Schemas["QueueItem"], "approvals">;

/** Whether the caller has approved what waits, and others have to as well. */
export function isMine({ approvals }: Approved): boolean {
  return approvals?.given.some((each) => each.user.id === user.value?.id) ?? false;
}

/** Whether others still have to approve after one more approval. */
export function waitsForOthers({ approvals }: Approved): boolean {
  return approvals ? approvals.given.length + 1 < approvals.required : false;
}
