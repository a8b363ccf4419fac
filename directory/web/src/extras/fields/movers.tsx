// The two buttons that move an entry of a list.
import { readOnly } from "../../state/session.ts";
import { f } from "./text.ts";

interface Props {
  label: string;
  isFirst: boolean;
  isLast: boolean;
  /** Move it by so many places. */
  move: (by: number) => void | Promise<void>;
}

export function Movers({ label, isFirst, isLast, move }: Props) {
  return (
    <>
      <button type="button" class="link" aria-label={f.earlierOf(label)} disabled={readOnly.value || isFirst} onClick={(event) => void press(event.currentTarget, -1, move)}>{f.earlier}</button>
      <button type="button" class="link" aria-label={f.laterOf(label)} disabled={readOnly.value || isLast} onClick={(event) => void press(event.currentTarget, 1, move)}>{f.later}</button>
    </>
  );
}

/** An element that moves loses the focus, which belongs to the button; at an end of the list to the other one. */
async function press(button: HTMLButtonElement, by: number, move: Props["move"]): Promise<void> {
  await move(by);
  requestAnimationFrame(() => {
    const other = by < 0 ? button.nextElementSibling : button.previousElementSibling;
    (button.disabled ? other as HTMLElement : button).focus();
  });
}
