// Entries of the audit log as sentences, with the names as links.
import type { Schemas } from "../api/client.ts";
import { isAdministrator, personAt } from "../state/session.ts";

export type Entry = Schemas["Audit"];
/** A piece of a sentence; with `href` a name that leads to what it names. */
export interface Part {
  text: string;
  href?: string;
}

/** "grace approved Flask." The project leads to `projectAt`, or to its page. */
export function sentence(entry: Entry, projectAt?: string): Part[] {
  const by = userPart(entry.actor, entry.rule_id ? "A rule" : "The operator");
  const operator = userPart(entry.actor, "The operator");
  const project = projectPart(entry, projectAt);
  const user = userPart(entry.user, entry.user_id ? `user ${entry.user_id}` : "a user", entry.user_id);
  switch (entry.action) {
    case "project.submitted": return [by, { text: " submitted " }, project, end];
    case "project.imported": return [by, { text: " imported " }, project, { text: ` as ${entry.to ?? "it was"}.` }];
    case "project.edited": return [by, { text: " edited " }, project, { text: returned(entry) ? ", which went back to the queue." : "." }];
    case "project.edit_held": return [by, { text: " changed " }, project, { text: ", which waits for review." }];
    case "project.edit_approved": return [by, { text: " approved the changes of " }, project, end];
    case "project.edit_rejected": return [by, { text: " rejected the changes of " }, project, end];
    case "project.edit_withdrawn": return [by, { text: " withdrew the changes of " }, project, end];
    case "project.approval_given": return [by, { text: " approved " }, project, { text: ", which needs more approvals." }];
    case "project.approval_withdrawn": return [by, { text: " took back the approval of " }, project, end];
    case "project.approved": return [by, { text: " approved " }, project, end];
    case "project.rejected": return [by, { text: " rejected " }, project, end];
    case "project.unpublished": return [by, { text: " took " }, project, { text: " down." }];
    case "project.deleted": return [by, { text: " deleted " }, project, end];
    case "project.votes_discounted": return [by, { text: ` discounted ${votes(entry)} of ` }, project, end];
    case "project.votes_counted": return [by, { text: ` counted ${votes(entry)} of ` }, project, { text: " again." }];
    case "project.changes_requested": return [by, { text: " asked for changes of " }, project, end];
    case "project.resubmitted": return [by, { text: " gave " }, project, { text: " back to the reviewers." }];
    case "project.released": return [userPart(entry.actor, "The service"), { text: " put " }, project, { text: ", which a rule had held, into the queue." }];
    case "project.returned": return [by, { text: " put " }, project, { text: " back into the queue, against what a rule had done." }];
    case "project.appealed": return [by, { text: " appealed about " }, project, end];
    case "project.appeal_upheld": return [by, { text: " upheld the decision about " }, project, end];
    case "project.appeal_reversed": return [by, { text: " reversed the decision about " }, project, end];
    case "message.erased": return [by, { text: " erased a message about " }, project, end];
    case "user.role_changed": return [byProvider(entry) ?? by, { text: " made " }, user, { text: madeTo[entry.to ?? ""] ?? " a member." }];
    case "user.categories_changed": return [by, { text: " changed what " }, user, { text: " may review." }];
    case "user.status_changed": return [by, { text: entry.to === "suspended" ? " suspended " : " restored " }, user, end];
    case "user.signed_out": return [byProvider(entry) ?? by, { text: " signed " }, user, { text: " out everywhere." }];
    case "user.renamed": return [by, { text: " chose their username." }];
    case "user.identity_added": return [by, { text: ` joined ${entry.to} to their account.` }];
    case "user.identity_removed": return [by, { text: " removed a provider from their account." }];
    case "user.passkey_added": return [by, { text: " added a passkey to their account." }];
    case "user.passkey_removed": return [by, { text: " removed a passkey from their account." }];
    case "user.passkeys_reset": return [by, { text: " removed all passkeys of " }, user, end];
    case "user.registered": return entry.actor ? [by, { text: " opened their account." }] : [by, { text: " opened the account of " }, user, { text: entry.to === "admin" ? ", an administrator." : "." }];
    case "user.signed_in": return [by, { text: " signed in." }];
    case "user.signed_in_by_link": return [by, { text: " signed in by a link of the operator." }];
    case "user.role_unknown": return [by, { text: ` kept the role, because ${entry.to} did not name the groups.` }];
    case "user.password_changed": return entry.actor ? [by, { text: " changed their password." }] : [by, { text: " gave " }, user, { text: " a new password." }];
    case "user.email_changed": return [by, { text: " changed their e-mail address." }];
    case "user.token_created": return [by, { text: " created an access token." }];
    case "user.token_revoked": return [by, { text: " revoked an access token." }];
    case "user.feed_key_made": return [by, { text: " made a key for their feed." }];
    case "user.feed_key_deleted": return [by, { text: " deleted the key of their feed." }];
    case "users.signed_out": return [by, { text: " signed everybody out." }];
    case "users.tokens_revoked": return [by, { text: " revoked all access tokens." }];
    case "category.created": return [by, { text: ` created the category ${changed(entry, "slug").to}.` }];
    case "category.changed": return [by, { text: ` changed the category ${changed(entry, "slug").from}.` }];
    case "category.deleted": return [by, { text: ` deleted the category ${changed(entry, "slug").from}.` }];
    case "webhook.redelivered": return [by, { text: entry.changes?.deliveries ? ` sent ${changed(entry, "deliveries").to} deliveries again.` : ` sent delivery ${changed(entry, "id").to} again.` }];
    case "webhook.tested": return [by, { text: ` sent a test to ${changed(entry, "endpoint").to}.` }];
    case "counters.repaired": return [by, { text: " repaired counters, or what is derived from projects." }];
    case "report.settled": return [by, { text: entry.to === "acted" ? " acted on the reports about " : " found no reason to act in the reports about " }, project, end];
    case "rule.created": return [operator, { text: ` created the rule “${changed(entry, "name").to}”.` }];
    case "rule.changed": return [operator, { text: ` changed the rule “${changed(entry, "name").from}”.` }];
    case "rule.deleted": return [operator, { text: ` deleted the rule “${changed(entry, "name").from}”.` }];
    case "reply.created": return [by, { text: ` saved the reply ${changed(entry, "name").to}.` }];
    case "reply.changed": return [by, { text: ` changed the saved reply ${changed(entry, "name").from}.` }];
    case "reply.deleted": return [by, { text: ` deleted the saved reply ${changed(entry, "name").from}.` }];
    case "user.deleted": return entry.actor?.id === entry.user_id ? [by, { text: " deleted their account." }] : [by, { text: " deleted the account of " }, user, end];
  }
}

const end: Part = { text: "." };
const madeTo: Record<string, string> = { admin: " an administrator.", reviewer: " a reviewer." };

function votes({ votes }: Entry): string {
  const number = votes?.number ?? 0;
  return number === 1 ? "1 vote" : `${number} votes`;
}

/** The values of a field before and after. */
function changed({ changes }: Entry, field: string): { from: string; to: string } {
  const { from, to } = changes?.[field] ?? {};
  return { from: String(from ?? ""), to: String(to ?? "") };
}

function returned({ from, to }: Entry): boolean {
  return to === "pending" && from !== "pending";
}

function projectPart({ project, project_id, action }: Entry, at?: string): Part {
  const text = project?.title || (project_id ? `project ${project_id}` : "a project");
  const isGone = action === "project.deleted";
  if (!project_id || (isGone && !isAdministrator.value)) return { text };
  const place = isAdministrator.value ? `/p/${project_id}/-` : `/admin/queue/${project_id}`; // where reviewers see all states
  return { text, href: isGone ? `/admin/audit?project_id=${project_id}` : at ?? place };
}

function userPart(user: { id: number; username: string } | null, otherwise: string, id?: number | null): Part {
  if (user) return { text: user.username, href: personAt(user) };
  return id ? { text: otherwise, href: `/admin/users/${id}` } : { text: otherwise };
}

/** The provider whose groups changed an account, which stands in the reason of an entry without an actor. */
function byProvider(entry: Entry): Part | null {
  return entry.actor || !entry.reason ? null : { text: entry.reason };
}
