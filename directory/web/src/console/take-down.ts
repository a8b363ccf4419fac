// The question that takes a live project down.
import { api, ask } from "../api/client.ts";
import { added, type Named } from "../extras/extra.ts";
import { say } from "../state/notice.ts";
import { ask as question } from "./dialog-state.ts";
import { w } from "./text.ts";

/** `why` says what follows; `again` reads the list that the project is in. */
export function takeDown(project: { id: number; version: number } & Named, why: string, again: () => unknown): void {
  const { id, title, version } = project;
  void added.saved?.load();
  question({
    title: w.takeDownOf(title), text: why, action: w.takeDown, danger: true,
    fields: [{ name: "reason", label: w.reason, kind: "text", optional: true, replies: { decision: "unpublish", project } }],
    act: async ({ reason }) => {
      const params = { path: { project_id: id }, header: { "If-Match": `"${version}"` } };
      const answer = ask(api.PUT("/api/review/projects/{project_id}/unpublish", { params, body: reason?.trim() ? { reason } : {} }));
      await answer.finally(() => void again()); // also where another version or state is the reason of a refusal
      say(w.takenDownOne(title));
    },
  });
}
