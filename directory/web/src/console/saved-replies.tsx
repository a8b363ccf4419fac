// A menu of the saved replies for a decision, above the field that takes the text.
import { filled, type Named, repliesFor } from "../state/replies.ts";
import { r } from "./review-text.ts";

interface SavedRepliesProps {
  decision: string;
  /** The project whose title and owner are filled in. */
  project: Named;
  take: (text: string) => void;
}

export function SavedReplies({ decision, project, take }: SavedRepliesProps) {
  const found = repliesFor(decision);
  if (!found.length) return null;
  return (
    <select aria-label={r.replies} value="" onChange={(event) => choose(event.currentTarget, project, take)}>
      <option value="">{r.replies}</option>
      {found.map(({ id, name, text }) => <option key={id} value={text}>{name}</option>)}
    </select>
  );
}

function choose(menu: HTMLSelectElement, project: Named, take: (text: string) => void): void {
  if (menu.value) take(filled(menu.value, project));
  menu.value = "";
}
