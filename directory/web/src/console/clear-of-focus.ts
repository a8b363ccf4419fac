// What is said lies at the bottom of the window, or at its top where it would cover what has the focus.
import { effect } from "@preact/signals";
import { notice } from "../state/notice.ts";
import { told, waiting } from "../state/queue-decisions.ts";

export function keepClearOfFocus(): void {
  for (const name of ["focusin", "scroll", "resize"]) addEventListener(name, place, { capture: true, passive: true });
  effect(() => {
    if (told.value.text || notice.value || waiting.value.length) requestAnimationFrame(place); // once it is drawn
  });
}

function place(): void {
  const said = document.querySelectorAll(".q-told, .notice p");
  const { classList } = document.documentElement;
  classList.remove("said-above");
  if ([...said].some(coversFocus)) classList.add("said-above");
}

function coversFocus(said: Element): boolean {
  const focused = document.activeElement;
  if (!focused || focused.contains(document.getElementById("main")) || focused.id === "main" || said.contains(focused)) return false;
  const [one, other] = [said.getBoundingClientRect(), focused.getBoundingClientRect()];
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
