// What is wrong with a form as a whole.
import { errors } from "../state/account.ts";

export function Wrong({ form }: { form: string }) {
  const whole = errors.value[form]?.[""];
  return whole ? <p class="banner bad" role="alert" tabIndex={-1} ref={showHere}>{whole}</p> : null;
}

/** Put the focus on a refusal and bring it into sight: the button that was pressed may be at the other end of the page. */
export function showHere(element: HTMLElement | null): void {
  element?.focus({ preventScroll: true });
  element?.scrollIntoView({ block: "nearest" });
}
