// Fields of some categories alone: the form asks for those of the category that is chosen, and sends no others.
import { fieldOf, projectForm } from "./project.ts";

export function startOfCategory(): void {
  const form = projectForm();
  const parts = form?.querySelectorAll<HTMLFieldSetElement>("[data-of]") ?? [];
  if (!form || !parts.length) return;
  const category = fieldOf(form, "category");
  const show = () => {
    for (const each of parts) each.hidden = each.disabled = !each.dataset.of?.split(" ").includes(category.value);
  };
  category.addEventListener("change", show);
  show();
}
