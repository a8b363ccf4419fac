// What is wrong with a form as a whole.
import { errors } from "../state/account.ts";

export function Wrong({ form }: { form: string }) {
  const whole = errors.value[form]?.[""];
  return whole ? <p class="banner bad" role="alert">{whole}</p> : null;
}
