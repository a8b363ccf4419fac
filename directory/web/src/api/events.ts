// What the console says of events and states. Made of the tables of the service: python .ci/web.py schema
import type { Schemas } from "./client.ts";

/** What each event is called. */
export const labels: Record<string, string> = {
  "project.submitted": "Project submitted",
  "project.imported": "Project imported",
  "project.edited": "Project edited",
  "project.edit_held": "Changes submitted",
  "project.edit_approved": "Changes approved",
  "project.edit_rejected": "Changes rejected",
  "project.edit_withdrawn": "Changes withdrawn",
  "project.approval_given": "Approval given",
  "project.approval_withdrawn": "Approval taken back",
  "project.approved": "Project approved",
  "project.rejected": "Project rejected",
  "project.unpublished": "Project taken down",
  "project.deleted": "Project deleted",
  "project.votes_discounted": "Votes discounted",
  "project.votes_counted": "Votes counted again",
  "project.changes_requested": "Changes requested",
  "project.answered": "Owner answered",
  "project.closing": "Owner reminded",
  "project.message": "Message to the owner",
  "project.resubmitted": "Given back",
  "project.released": "Put into the queue",
  "project.returned": "Put back into the queue",
  "project.appealed": "Appealed",
  "project.appeal_upheld": "Decision upheld",
  "project.appeal_reversed": "Decision reversed",
  "project.picked": "Project picked",
  "project.unpicked": "Pick taken back",
  "project.reported": "Project reported",
  "project.link_dead": "Link dead",
  "project.first_week": "A week in the directory",
  "message.erased": "Message erased",
  "user.role_changed": "Role changed",
  "user.categories_changed": "Categories to review changed",
  "user.status_changed": "Suspended or restored",
  "user.signed_out": "Signed out everywhere",
  "user.deleted": "Account deleted",
  "user.renamed": "Username chosen",
  "user.identity_added": "Provider joined",
  "user.identity_removed": "Provider removed",
  "user.passkey_added": "Passkey added",
  "user.passkey_removed": "Passkey removed",
  "user.passkeys_reset": "Passkeys reset",
  "user.registered": "Account opened",
  "user.signed_in": "Administrator signed in",
  "user.signed_in_by_link": "Signed in by a link",
  "user.role_unknown": "Groups not named",
  "user.password_changed": "Password changed",
  "user.email_changed": "E-mail address changed",
  "user.token_created": "Access token created",
  "user.token_revoked": "Access token revoked",
  "user.feed_key_made": "Feed key made",
  "user.feed_key_deleted": "Feed key deleted",
  "users.signed_out": "Everybody signed out",
  "users.tokens_revoked": "All access tokens revoked",
  "category.created": "Category created",
  "category.changed": "Category changed",
  "category.deleted": "Category deleted",
  "webhook.redelivered": "Delivery sent again",
  "webhook.tested": "Endpoint tested",
  "webhook.test": "Test",
  "counters.repaired": "Counters repaired",
  "report.settled": "Reports settled",
  "rule.created": "Rule created",
  "rule.changed": "Rule changed",
  "rule.deleted": "Rule deleted",
  "reply.created": "Reply saved",
  "reply.changed": "Saved reply changed",
  "reply.deleted": "Saved reply deleted",
  "field.created": "Field created",
  "field.changed": "Field changed",
  "field.deleted": "Field deleted",
  "account.password_reset": "Link for a new password",
  "account.email_verification": "Link to confirm an address",
  "account.email_changed": "Notice of a new address",
  "account.password_changed": "Notice of a new password",
  "account.passkey_added": "Notice of a new passkey",
  "account.passkey_removed": "Notice of a removed passkey"
};

/** What the log says, of some by case. */
export const sentences: Record<Schemas["Audit"]["action"], string | Readonly<Record<string, string>>> = {
  "project.submitted": "{by} submitted {project}.",
  "project.imported": "{by} imported {project} as {to}.",
  "project.edited": {
    "returned": "{by} edited {project}, which went back to the queue.",
    "": "{by} edited {project}."
  },
  "project.edit_held": "{by} changed {project}, which waits for review.",
  "project.edit_approved": "{by} approved the changes of {project}.",
  "project.edit_rejected": "{by} rejected the changes of {project}.",
  "project.edit_withdrawn": "{by} withdrew the changes of {project}.",
  "project.approval_given": "{by} approved {project}, which needs more approvals.",
  "project.approval_withdrawn": "{by} took back the approval of {project}.",
  "project.approved": "{by} approved {project}.",
  "project.rejected": "{by} rejected {project}.",
  "project.unpublished": "{by} took {project} down.",
  "project.deleted": "{by} deleted {project}.",
  "project.votes_discounted": "{by} discounted {votes} of {project}.",
  "project.votes_counted": "{by} counted {votes} of {project} again.",
  "project.changes_requested": "{by} asked for changes of {project}.",
  "project.resubmitted": "{by} gave {project} back to the reviewers.",
  "project.released": "{service} put {project}, which a rule had held, into the queue.",
  "project.returned": "{by} put {project} back into the queue, against what a rule had done.",
  "project.appealed": "{by} appealed about {project}.",
  "project.appeal_upheld": "{by} upheld the decision about {project}.",
  "project.appeal_reversed": "{by} reversed the decision about {project}.",
  "project.picked": {
    "changed": "{by} changed why {project} is picked.",
    "": "{by} picked {project}."
  },
  "project.unpicked": "{by} took the pick of {project} back.",
  "message.erased": "{by} erased a message about {project}.",
  "user.role_changed": {
    "admin": "{provider} made {user} an administrator.",
    "reviewer": "{provider} made {user} a reviewer.",
    "": "{provider} made {user} a member."
  },
  "user.categories_changed": "{by} changed what {user} may review.",
  "user.status_changed": {
    "suspended": "{by} suspended {user}.",
    "": "{by} restored {user}."
  },
  "user.signed_out": "{provider} signed {user} out everywhere.",
  "user.deleted": {
    "own": "{by} deleted their account.",
    "": "{by} deleted the account of {user}."
  },
  "user.renamed": "{by} chose their username.",
  "user.identity_added": "{by} joined {to} to their account.",
  "user.identity_removed": "{by} removed a provider from their account.",
  "user.passkey_added": "{by} added a passkey to their account.",
  "user.passkey_removed": "{by} removed a passkey from their account.",
  "user.passkeys_reset": "{by} removed all passkeys of {user}.",
  "user.registered": {
    "own": "{by} opened their account.",
    "admin": "{by} opened the account of {user}, an administrator.",
    "": "{by} opened the account of {user}."
  },
  "user.signed_in": "{by} signed in.",
  "user.signed_in_by_link": "{by} signed in by a link of the operator.",
  "user.role_unknown": "{by} kept the role, because {to} did not name the groups.",
  "user.password_changed": {
    "own": "{by} changed their password.",
    "": "{by} gave {user} a new password."
  },
  "user.email_changed": "{by} changed their e-mail address.",
  "user.token_created": "{by} created an access token.",
  "user.token_revoked": "{by} revoked an access token.",
  "user.feed_key_made": "{by} made a key for their feed.",
  "user.feed_key_deleted": "{by} deleted the key of their feed.",
  "users.signed_out": "{by} signed everybody out.",
  "users.tokens_revoked": "{by} revoked all access tokens.",
  "category.created": "{by} created the category {slug.to}.",
  "category.changed": "{by} changed the category {slug.from}.",
  "category.deleted": "{by} deleted the category {slug.from}.",
  "webhook.redelivered": {
    "several": "{by} sent {deliveries.to} deliveries again.",
    "": "{by} sent delivery {id.to} again."
  },
  "webhook.tested": "{by} sent a test to {endpoint.to}.",
  "counters.repaired": "{by} repaired counters, or what is derived from projects.",
  "report.settled": {
    "acted": "{by} acted on the reports about {project}.",
    "": "{by} found no reason to act in the reports about {project}."
  },
  "rule.created": "{operator} created the rule “{name.to}”.",
  "rule.changed": "{operator} changed the rule “{name.from}”.",
  "rule.deleted": "{operator} deleted the rule “{name.from}”.",
  "reply.created": "{by} saved the reply {name.to}.",
  "reply.changed": "{by} changed the saved reply {name.from}.",
  "reply.deleted": "{by} deleted the saved reply {name.from}.",
  "field.created": "{operator} created the field {name.to}.",
  "field.changed": {
    "order": "{operator} changed the order of the fields.",
    "": "{operator} changed the field {name.to}."
  },
  "field.deleted": "{operator} deleted the field {name.from}."
};

/** What somebody did, behind the name. */
export const did: Record<string, string> = {
  "project.edit_approved": "approved it",
  "project.edit_rejected": "rejected it",
  "project.approved": "approved it",
  "project.rejected": "rejected it",
  "project.unpublished": "took it down",
  "project.deleted": "deleted it",
  "project.changes_requested": "asked for changes",
  "project.appealed": "appealed",
  "project.appeal_upheld": "upheld the decision",
  "project.appeal_reversed": "reversed the decision"
};

/** The same by the kind of the entry in the thread. */
export const didInThread = {
  "approved": "approved it",
  "rejected": "rejected it",
  "unpublished": "took it down",
  "changes_requested": "asked for changes",
  "appeal": "appealed",
  "appeal_upheld": "upheld the decision",
  "appeal_reversed": "reversed the decision"
} as const;

/** The events that are delivered, in the order of the API. */
export const delivered: readonly string[] = [
  "project.approved",
  "project.submitted",
  "project.rejected",
  "project.unpublished",
  "project.deleted",
  "project.edited",
  "project.changes_requested",
  "project.answered",
  "project.appealed",
  "project.reported",
  "webhook.test",
  "project.picked",
  "project.unpicked",
  "project.link_dead",
  "project.edit_approved",
  "project.edit_rejected",
  "project.closing",
  "project.message",
  "project.returned",
  "project.appeal_upheld",
  "project.appeal_reversed",
  "project.first_week",
  "report.settled",
  "account.password_reset",
  "account.email_verification",
  "account.email_changed",
  "account.password_changed",
  "account.passkey_added",
  "account.passkey_removed"
];

/** The events of decisions about projects, and about changes of them. */
export const decided = {
  "approve": "project.approved",
  "reject": "project.rejected",
  "unpublish": "project.unpublished",
  "request_changes": "project.changes_requested"
} as const;

export const decidedChanges = {
  "approve": "project.edit_approved",
  "reject": "project.edit_rejected"
} as const;

/** The edits of owners. */
export const edits: readonly string[] = [
  "project.edited",
  "project.edit_held",
  "project.edit_withdrawn"
];

/** The reason of a rejection that the service made, because the time for an answer had passed. */
export const timePassed = /^No answer within (\d{1,9}) days?\.$/;

/** What each state of a project is called. */
export const states = {
  "live": "Live",
  "pending": "In review",
  "rejected": "Rejected"
} as const;

/** What each turn of a review is called; if it is the owner's, by what the owner was asked. */
export const turns = {
  "review": "In review",
  "changes_requested": "Changes asked for",
  "unpublished": "Taken down",
  "appeal": "Appeal",
  "held": "Held"
} as const;

/** The sentences for a project that waits for its owner: those with a date, then those without. */
export const withOwner = [
  "It waits for its owner until {date}.",
  "It waits for its owner."
] as const;
