// Tags as they will be stored: C++ is cpp.
import { word } from "../reading/words.ts";
import { element, fieldOf, projectForm } from "./project.ts";

export function startTags(): void {
  const form = projectForm();
  if (!form) return;
  const field = fieldOf(form, "tags");
  const line = element("p", "hint");
  field.after(line);
  field.addEventListener("input", show);
  show();

  function show(): void {
    const tags = tagsOf(field.value);
    const isAsTyped = tags.join() === field.value.toLowerCase().split(/[\s,]+/).filter(Boolean).join();
    line.hidden = isAsTyped || !tags.length;
    line.textContent = word("Stored as: {tags}", { tags: tags.join(", ") });
  }
}

/** The tags of a line, separated by commas or white space: each in the form in which it is stored, and once. */
export function tagsOf(line: string): string[] {
  return [...new Set(line.split(/[\s,;،、，]+/).map(tagOf).filter(Boolean))];
}

function tagOf(typed: string): string {
  const plain = typed.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/^#/, "").replace(/^\.(?=[\p{L}\p{N}])/u, "dot");
  const named = plain.replaceAll(".", "").replaceAll("+", "p").replaceAll("#", "sharp").replaceAll("&", "-and-");
  return named.replace(/[_/-]+/g, "-").replace(/^-|-$/g, "");
}
