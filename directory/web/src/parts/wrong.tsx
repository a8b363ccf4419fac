// What is wrong with a form as a whole.
export function Wrong({ why }: { why: string }) {
  return why ? <p class="banner bad" role="alert" tabIndex={-1} ref={showHere}>{why}</p> : null;
}

/** Put the focus on a refusal and bring it into sight: the button that was pressed may be at the other end of the page. */
export function showHere(element: HTMLElement | null): void {
  element?.focus({ preventScroll: true });
  element?.scrollIntoView({ block: "nearest" });
}
