// What the actions of the log are called.
import type { Schemas } from "../api/client.ts";

/** Each action of the log; one without a label does not compile. */
export const actions: Record<Schemas["Audit"]["action"], string> = {
  "project.submitted": "Project submitted", "project.imported": "Project imported", "project.edited": "Project edited",
  "project.edit_held": "Changes submitted", "project.edit_approved": "Changes approved",
  "project.edit_rejected": "Changes rejected", "project.edit_withdrawn": "Changes withdrawn",
  "project.approval_given": "Approval given", "project.approval_withdrawn": "Approval taken back",
  "project.approved": "Project approved", "project.rejected": "Project rejected", "project.unpublished": "Project taken down",
  "project.deleted": "Project deleted", "project.votes_discounted": "Votes discounted", "project.votes_counted": "Votes counted again",
  "project.changes_requested": "Changes requested", "project.resubmitted": "Given back",
  "project.released": "Put into the queue", "project.returned": "Put back into the queue",
  "project.appealed": "Appealed", "project.appeal_upheld": "Decision upheld", "project.appeal_reversed": "Decision reversed",
  "message.erased": "Message erased",
  "user.role_changed": "Role changed", "user.categories_changed": "Categories to review changed", "user.status_changed": "Suspended or restored",
  "user.signed_out": "Signed out everywhere", "user.deleted": "Account deleted",
  "user.renamed": "Username chosen", "user.identity_added": "Provider joined", "user.identity_removed": "Provider removed",
  "user.passkey_added": "Passkey added", "user.passkey_removed": "Passkey removed", "user.passkeys_reset": "Passkeys reset",
  "user.registered": "Account opened", "user.signed_in": "Administrator signed in",
  "user.signed_in_by_link": "Signed in by a link", "user.role_unknown": "Groups not named", "user.password_changed": "Password changed",
  "user.email_changed": "E-mail address changed", "user.token_created": "Access token created", "user.token_revoked": "Access token revoked",
  "user.feed_key_made": "Feed key made", "user.feed_key_deleted": "Feed key deleted",
  "users.signed_out": "Everybody signed out", "users.tokens_revoked": "All access tokens revoked",
  "category.created": "Category created", "category.changed": "Category changed", "category.deleted": "Category deleted",
  "webhook.redelivered": "Delivery sent again", "webhook.tested": "Endpoint tested", "counters.repaired": "Counters repaired",
  "report.settled": "Reports settled",
  "rule.created": "Rule created", "rule.changed": "Rule changed", "rule.deleted": "Rule deleted",
  "reply.created": "Reply saved", "reply.changed": "Saved reply changed", "reply.deleted": "Saved reply deleted",
};
