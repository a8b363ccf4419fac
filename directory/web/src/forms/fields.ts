// Small help at the fields of a project: how many characters are left, the scheme of an address, a text that was saved.
import { element, fieldOf, projectForm, withScheme } from "./project.ts";

const number = new Intl.NumberFormat("en");

export function startFields(): void {
  const form = projectForm();
  if (!form) return;
  for (const field of form.querySelectorAll<HTMLInputElement>("[data-most]")) countLeft(field, Number(field.dataset.most));
  for (const name of ["url", "repository_url"]) {
    const field = fieldOf(form, name);
    field.addEventListener("change", () => (field.value = withScheme(field.value)));
  }
  for (const button of form.querySelectorAll<HTMLButtonElement>("[data-take]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const field = fieldOf(form, button.dataset.take ?? "");
      field.value = button.dataset.text ?? "";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      field.focus();
    });
  }
}

/** Show it from seven tenths of the limit on. */
function countLeft(field: HTMLInputElement, most: number): void {
  const line = element("span");
  field.closest(".field")?.querySelector(".label")?.append(line);
  const show = () => {
    const left = most - [...field.value].length;
    line.hidden = left > most * 0.3;
    line.className = `left small ${left < 0 ? "over" : "muted"}`;
    line.textContent = left < 0 ? `${number.format(-left)} too many` : `${number.format(left)} left`;
  };
  field.addEventListener("input", show);
  show();
}
