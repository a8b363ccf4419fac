// Entries of the audit log as sentences, with the names as links.
import type { Schemas } from "../api/client.ts";
import { sentences, timePassed } from "../api/events.ts";
import { isAdministrator, personAt } from "../state/session.ts";
import { count } from "../text.ts";

export type Entry = Schemas["Audit"];
/** A piece of a sentence; with `href` a name that leads to what it names. */
export interface Part {
  text: string;
  href?: string;
}

/** "grace approved Flask." The project leads to `projectAt`, or to its page. */
export function sentence(entry: Entry, projectAt?: string): Part[] {
  const said = sentences[entry.action];
  const text = typeof said === "string" ? said : Object.entries(said).find(([when]) => holds(when, entry))?.[1] ?? "";
  return text.split(/\{([\w.]+)\}/).map((part, place) => (place % 2 ? named(part, entry, projectAt) : { text: part })).filter((part) => part.text);
}

/** Whether a sentence is about this case; that without a case comes last. */
function holds(when: string, { actor, user_id, from, to, changes }: Entry): boolean {
  if (when === "own") return actor?.id === user_id;
  if (when === "returned") return to === "pending" && from !== "pending";
  if (when === "order") return Boolean(changes?.order);
  if (when === "changed") return Boolean(changes);
  if (when === "several") return Boolean(changes?.deliveries);
  return !when || to === when;
}

/** What stands for a placeholder; `{name.to}` is the value of a field after a change. */
function named(placeholder: string, entry: Entry, projectAt?: string): Part {
  const [field = "", side] = placeholder.split(".");
  const operator = userPart(entry.actor, "The operator");
  if (side) return { text: String(entry.changes?.[field]?.[side as "from" | "to"] ?? "") };
  switch (field) {
    case "project": return projectPart(entry, projectAt);
    case "user": return userPart(entry.user, entry.user_id ? `user ${entry.user_id}` : "a user", entry.user_id);
    case "to": return { text: entry.to ?? "it was" };
    case "votes": return { text: count(entry.votes?.number ?? 0, "vote") };
    case "service": return userPart(entry.actor, "The service");
    // The provider whose groups changed an account stands in the reason of an entry without an actor.
    case "provider": return !entry.actor && entry.reason ? { text: entry.reason } : operator;
    case "operator": return operator;
    case "by": return userPart(entry.actor, nobody(entry));
    default: return { text: `{${placeholder}}` };
  }
}

/** Who did what no person of the site did. */
export function nobody({ rule_id, reason }: Entry): string {
  return rule_id ? "A rule" : timePassed.test(reason ?? "") ? "The service" : "The operator";
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
