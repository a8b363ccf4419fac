// Small help at fields: how many characters there are of how many; at those of a project the scheme of an address, a text that was saved.
import { element, fieldOf, projectForm, withScheme } from "./project.ts";

const number = new Intl.NumberFormat(document.documentElement.lang || "en");

export function startFields(): void {
  for (const field of document.querySelectorAll<HTMLInputElement>("[data-most]")) count(field, Number(field.dataset.most));
  const form = projectForm();
  if (!form) return;
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

function count(field: HTMLInputElement, most: number): void {
  const line = element("span");
  field.closest(".field")?.querySelector(".label")?.append(line);
  const show = () => {
    const length = [...field.value].length;
    line.className = `left small ${length > most ? "over" : "muted"}`;
    line.textContent = `${number.format(length)} / ${number.format(most)}`;
  };
  field.addEventListener("input", show);
  show();
}
