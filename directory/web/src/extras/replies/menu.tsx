// A menu of the saved replies for a decision, above the field that takes the text.
import type { MenuProps, Named } from "../extra.ts";
import { filled, repliesFor } from "./replies.ts";
import { y } from "./text.ts";

export function Menu({ decision, project, take }: MenuProps) {
  const found = repliesFor(decision);
  if (!found.length) return null;
  return (
    <select aria-label={y.choose} value="" onChange={(event) => choose(event.currentTarget, project, take)}>
      <option value="">{y.choose}</option>
      {found.map(({ id, name, text }) => <option key={id} value={text}>{name}</option>)}
    </select>
  );
}

function choose(menu: HTMLSelectElement, project: Named, take: (text: string) => void): void {
  if (menu.value) take(filled(menu.value, project));
  menu.value = "";
}
