// What the actions of the log are called.
import type { Schemas } from "../api/client.ts";

/** Each action of the log; one without a label does not compile. */
export const actions: Record<Schemas["Audit"]["action"], string> = {
  "project.submitted": "Project submitted", "project.imported": "Project imported", "project.edited": "Project edited",
  "project.edit_held": "Changes submitted", "project.edit_approved": "Changes approved",
  "project.edit_rejected": "Changes rejected", "project.edit_withdrawn": "Changes withdrawn",
  "project.approved": "Project approved", "project.rejected": "Project rejected", "project.unpublished": "Project taken down",
  "project.deleted": "Project deleted", "project.votes_discounted": "Votes discounted", "project.votes_counted": "Votes counted again",
  "user.role_changed": "Role changed", "user.status_changed": "Suspended or restored",
  "user.signed_out": "Signed out everywhere", "user.deleted": "Account deleted",
  "user.renamed": "Username chosen", "user.identity_added": "Provider joined", "user.identity_removed": "Provider removed",
  "user.passkey_added": "Passkey added", "user.passkey_removed": "Passkey removed", "user.passkeys_reset": "Passkeys reset",
};
