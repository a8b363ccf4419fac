// Decisions about several projects of the table, each with the version that is shown, and an outcome for each.
import { signal } from "@preact/signals";
import { api, ask, type Schemas } from "../api/client.ts";
import { say } from "../state/notice.ts";
import type { Outcome } from "../state/queue-decisions.ts";
import { isAdministrator, onNewCaller, readOnly } from "../state/session.ts";
import { ask as question } from "./dialog-state.ts";
import type { Listing } from "./listing.ts";
import { r } from "./review-text.ts";
import { w } from "./text.ts";

type Project = Schemas["QueueItem"];
/** What can be decided here without a message to the owner. */
export type Decision = Exclude<Schemas["DecisionsInput"]["decision"], "request_changes">;

const DECISIONS: Record<Decision, readonly Project["status"][]> = {
  approve: ["pending"], reject: ["pending"], unpublish: ["live"], delete: ["pending", "live", "rejected"],
};

export const outcomes = signal<readonly Outcome[]>([]);
onNewCaller(() => (outcomes.value = []));

/** The buttons for the projects that are selected: each counts those whose state it fits. */
export function BulkActions({ list, rows }: { list: Listing<Project>; rows: readonly Project[] }) {
  return (
    <>
      {(Object.keys(DECISIONS) as Decision[]).filter((each) => each !== "delete" || isAdministrator.value).map((decision) => {
        const fitting = rows.filter((each) => DECISIONS[decision].includes(each.status));
        if (!fitting.length) return null;
        return (
          <button key={decision} type="button" class={`button small${decision === "approve" ? "" : " danger"}`} disabled={readOnly.value}
            onClick={() => askAbout(list, decision, fitting)}>{w.bulk(decision, fitting.length)}</button>
        );
      })}
    </>
  );
}

function askAbout(list: Listing<Project>, decision: Decision, projects: readonly Project[]): void {
  question({
    title: w.bulkTitle(decision, projects.length), text: w.bulkWhy[decision], action: w.bulk(decision, projects.length), danger: decision !== "approve",
    fields: decision === "approve" ? [] : [{ name: "reason", label: w.reason, kind: "text", optional: true }],
    act: async ({ reason = "" }) => {
      const items = projects.map(({ id, version }) => ({ id, version }));
      const rest = { items, ...(reason.trim() && { reason }) };
      const answer = await ask(decision === "delete" ? api.POST("/api/admin/projects/decisions", { body: { decision, ...rest } })
        : api.POST("/api/review/projects/decisions", { body: { decision, ...rest } }));
      const found = answer.items.map((each, place) => outcomeOf(projects[place] as Project, each, decision));
      outcomes.value = found.every((each) => each.good) ? [] : found;
      list.selected.value = new Set();
      void list.again();
      say(w.bulkDone(decision, found.filter((each) => each.good).length));
    },
  });
}

/** What an answer about one project means. */
export function outcomeOf({ id, title }: Project, { status, project }: Schemas["Decision"], decision: Decision): Outcome {
  const text = status === 200 ? w.bulkOutcome.done[decision] : status === 404 ? r.outcome.gone
    : project ? w.bulkOutcome.changed(project.status) : w.bulkOutcome.other;
  return { id, title, text, good: status === 200 };
}
