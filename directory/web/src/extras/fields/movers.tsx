// The two buttons that move an entry of a list.
import { readOnly } from "../../state/session.ts";
import { f } from "./text.ts";

interface Props {
  /** What tells the buttons of an entry apart from those of others. */
  id: string;
  label: string;
  isFirst: boolean;
  isLast: boolean;
  /** Move it by so many places. */
  move: (by: number) => void;
}

export function Movers({ id, label, isFirst, isLast, move }: Props) {
  const [earlier, later] = [`earlier-${id}`, `later-${id}`];
  // What moves loses the focus, which belongs to the button; at an end of the list to the other one.
  const press = (by: number, ...buttons: string[]) => {
    move(by);
    requestAnimationFrame(() => buttons.map((each) => document.getElementById(each)).find((each) => each?.matches(":enabled"))?.focus());
  };
  return (
    <>
      <button type="button" class="link" id={earlier} aria-label={f.earlierOf(label)} disabled={readOnly.value || isFirst} onClick={() => press(-1, earlier, later)}>{f.earlier}</button>
      <button type="button" class="link" id={later} aria-label={f.laterOf(label)} disabled={readOnly.value || isLast} onClick={() => press(1, later, earlier)}>{f.later}</button>
    </>
  );
}
