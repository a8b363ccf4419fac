// How a project will look in lists, while its form is filled in.
import { letters, tint } from "../parts/letters.ts";
import { find } from "../reading/page.ts";
import { word } from "../reading/words.ts";
import { element, fieldOf, projectForm } from "./project.ts";
import { tagsOf } from "./tags.ts";

export function startCard(): void {
  const form = projectForm();
  const place = find("[data-card]");
  if (!form || !place) return;
  const [row, text, meta] = [element("article", "row"), element("div", "grow"), element("p", "meta")];
  const [name, tagline, picture] = [element("h3"), element("p", "tagline"), element("span")];
  name.dir = tagline.dir = "auto";
  picture.setAttribute("aria-hidden", "true");
  text.append(name, tagline, meta);
  row.append(picture, text);
  place.append(element("h2", "", word("How it will look")), row);
  place.hidden = false;
  form.addEventListener("input", show);
  show();

  function show(): void {
    const value = (field: string) => fieldOf(form as HTMLFormElement, field).value.trim();
    const title = value("title") || word("Title");
    const category = fieldOf(form as HTMLFormElement, "category") as unknown as HTMLSelectElement;
    name.textContent = title;
    tagline.textContent = value("tagline") || word("Your tagline");
    picture.className = `monogram tint-${tint(title)}`;
    picture.textContent = letters(title);
    const tags = tagsOf(value("tags")).slice(0, 3).map((tag) => element("span", "tag", tag));
    meta.replaceChildren(...(category.value ? [element("span", "", category.selectedOptions[0]?.text)] : []), ...tags);
  }
}
