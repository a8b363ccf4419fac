// A picture opens in a dialog over its page, with the ones before and after it. Without this its link leads to the file.
import { word } from "./words.ts";

const LINKS = ".pictures a, .pictures-form .picture a";
const [dialog, picture, line] = [make("dialog", "viewer"), make("img"), make("p")];
let links: HTMLAnchorElement[] = [];
let shown = 0;

export function startViewer(): void {
  if (!document.querySelector(LINKS) || !dialog.showModal) return;
  const isLeftward = document.documentElement.dir === "rtl";
  const [back = "", on = ""] = isLeftward ? ["→", "←"] : ["←", "→"];
  dialog.append(picture, line, button(back, "Previous picture", -1), button(on, "Next picture", 1), button("×", "Close", 0));
  document.body.append(dialog);
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  dialog.addEventListener("keydown", ({ key }) => {
    const step = Number(key === "ArrowRight") - Number(key === "ArrowLeft");
    if (step) show(shown + (isLeftward ? -step : step));
  });
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>(LINKS);
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    links = [...document.querySelectorAll<HTMLAnchorElement>(LINKS)];
    show(links.indexOf(link));
    dialog.showModal();
  });
}

/** Show a picture; the one after the last is the first. */
function show(place: number): void {
  shown = (place + links.length) % links.length;
  const link = links[shown];
  const alt = link?.querySelector("img")?.alt ?? "";
  picture.src = link?.href ?? "";
  picture.alt = dialog.ariaLabel = line.textContent = alt;
  for (const each of dialog.querySelectorAll<HTMLElement>("[data-step]")) each.hidden = links.length < 2;
}

/** A button that goes so many pictures on; without any it closes. */
function button(sign: string, name: string, step: number): HTMLElement {
  const made = make("button", "button square");
  made.type = "button";
  made.textContent = sign;
  made.ariaLabel = made.title = word(name);
  if (step) made.dataset.step = String(step);
  made.addEventListener("click", () => (step ? show(shown + step) : dialog.close()));
  return made;
}

function make<Name extends keyof HTMLElementTagNameMap>(name: Name, kind = ""): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.className = kind;
  return made;
}
