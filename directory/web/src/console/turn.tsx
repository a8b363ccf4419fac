// Whose turn it is: the words for it, in the table of projects, in the rows of the queue and above what is reviewed.
import type { Schemas } from "../api/client.ts";
import { turns, withOwner } from "../api/events.ts";
import { dated, day } from "../parts/time.tsx";
import { w } from "./text.ts";

type Project = Pick<Schemas["ProjectDetail"], "status" | "review" | "published_at" | "revision">;
type Turn = keyof typeof turns;

/** What a project, or changes of it, wait for, and of the owner's turn how it came to that; null where nothing waits. */
function turnOf({ review }: Pick<Project, "review">): Turn | null {
  return review ? (review.asked ?? (review.held ? "held" : review.waiting_for === "owner" ? "changes_requested" : review.waiting_for)) : null;
}

/** Its state in words: what waits for a decision by whose turn it is, the others as they are, with what waits of them. */
export function statesOf(project: Project): string[] {
  const turn = turnOf(project);
  const words = turn ? [turns[turn]] : [];
  return project.status === "pending" && turn ? words : [w.values[project.status] ?? project.status, ...words];
}

export function States({ project }: { project: Project }) {
  return <>{statesOf(project).map((each, place) => <span key={each} class={`badge ${place ? "pending" : project.status}`}>{each}</span>)}</>;
}

/** By when its owner has to answer, in a row. */
export function Until({ project: { review } }: { project: Project }) {
  return review?.closes_at ? <span class="small muted">{w.until(day(review.closes_at))}</span> : null;
}

/** That it is with its owner, how it came to that, and until when. */
export function WithOwner({ project }: { project: Project }) {
  const { review, status } = project;
  const turn = turnOf(project);
  if (!turn || review?.waiting_for !== "owner") return null;
  return <p class="banner pending" role="status"><strong>{turns[turn]}.</strong> {review.closes_at ? w.thenRejected(withOwner[0].replace("{date}", dated(review.closes_at)), status === "live") : withOwner[1]}</p>;
}
