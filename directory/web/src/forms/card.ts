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
  const [name, tagline, picture, monogram] = [element("h3"), element("p", "tagline"), element("img", "monogram"), element("span")];
  name.dir = tagline.dir = "auto";
  picture.alt = "";
  monogram.setAttribute("aria-hidden", "true");
  text.append(name, tagline, meta);
  place.append(element("h2", "", word("How it will look")), row);
  place.hidden = false;
  for (const kind of ["input", "logo"]) form.addEventListener(kind, show);
  show();

  function show(): void {
    const value = (field: string) => fieldOf(form as HTMLFormElement, field).value.trim();
    const title = value("title");
    const logo = shownLogo(form as HTMLFormElement);
    const category = fieldOf(form as HTMLFormElement, "category") as unknown as HTMLSelectElement;
    name.textContent = title || word("Title");
    tagline.textContent = value("tagline") || word("Your tagline");
    picture.src = logo;
    row.replaceChildren(logo ? picture : monogram, text);
    monogram.className = `monogram${title && ` tint-${tint(title)}`}`;
    monogram.textContent = title && letters(title);
    const tags = tagsOf(value("tags")).slice(0, 3).map((tag) => element("span", "tag", tag));
    meta.replaceChildren(...(category.value ? [element("span", "", category.selectedOptions[0]?.text)] : []), ...tags);
  }
}

/** The logo that was chosen last, otherwise the present one unless it is to be removed; none where the letters stand. */
function shownLogo(form: HTMLFormElement): string {
  const [first, chosen] = form.querySelectorAll<HTMLImageElement>(".logo-field img");
  const isRemoved = form.querySelector<HTMLInputElement>("[name=remove_logo]")?.checked;
  return (chosen ?? (isRemoved && !first?.src.startsWith("data:") ? undefined : first))?.src ?? "";
}
