import { t } from "../text.ts";
import { vote, voteOf } from "../state/votes.ts";
import { Up } from "./icons.tsx";

interface Props {
  project: { id: number; title: string; upvotes: number; has_upvoted: boolean | null };
  wide?: boolean;
}

/** The button that sets and clears the caller's vote. */
export function VoteButton({ project, wide = false }: Props) {
  const shown = voteOf(project);
  const { on, count } = shown.value;
  return (
    <button type="button" class={`vote${wide ? " wide" : ""}`} aria-pressed={on} aria-label={t.upvote(project.title, count)}
      onClick={() => vote(project, !shown.peek().on)}>
      <Up />
      <span class="count">{t.number(count)}</span>
    </button>
  );
}
