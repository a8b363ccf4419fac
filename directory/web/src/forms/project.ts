// The form of a project: its fields, and whose draft it is.
import { keyOf } from "../reading/drafts.ts";
import { find } from "../reading/page.ts";

/** The form of this page, if it has one. */
export function projectForm(): HTMLFormElement | null {
  return find<HTMLFormElement>("form[data-project]");
}

/** The key of the draft of a form. */
export function draftOf(form: HTMLFormElement): string {
  return keyOf(fieldOf(form, "expected_user").value, form.dataset.draft ?? form.dataset.project ?? "");
}

/** A field of a form. */
export function fieldOf(form: HTMLFormElement, name: string): HTMLInputElement {
  return form.elements.namedItem(name) as HTMLInputElement;
}

/** The texts of a form. */
export function textsOf(form: HTMLFormElement): Record<string, string> {
  const texts = [...new FormData(form)].filter((each): each is [string, string] => typeof each[1] === "string");
  return Object.fromEntries(texts.filter(([name]) => name !== "expected_user" && name !== "another"));
}

/** A new element with a text. */
export function element<Name extends keyof HTMLElementTagNameMap>(name: Name, kind = "", text = ""): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.className = kind;
  made.textContent = text;
  return made;
}

/** A new button that does something else than to send the form. */
export function button(kind: string, text: string, press: () => void): HTMLButtonElement {
  const made = element("button", kind, text);
  made.type = "button";
  made.addEventListener("click", press);
  return made;
}

/** An address with its scheme: "vim.org" is https://vim.org. Other text stays as it is; the service has the same rule. */
export function withScheme(typed: string): string {
  const text = typed.trim();
  return /^[^\s/:@?#]+\.[^\s/:@?#.]+\.?(:\d+)?([/?#]|$)/.test(text) ? `https://${text}` : text;
}
