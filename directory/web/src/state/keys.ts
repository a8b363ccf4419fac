// Keys of the public pages: "/" goes to the search field.
import { focusSearch } from "./list.ts";
import { navigate } from "./router.ts";

export function startKeys(): void {
  document.addEventListener("keydown", onKey);
}

function onKey(event: KeyboardEvent): void {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  event.preventDefault();
  const field = document.querySelector<HTMLInputElement>("#search");
  if (field) {
    field.focus();
    field.select();
    return;
  }
  focusSearch.value = 1;
  navigate("/");
}

/** Whether keys are text where the focus is, or a dialog has it. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable], dialog") !== null;
}
