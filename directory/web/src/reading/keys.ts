// "/" goes to the search field, and the menu closes by Escape and by a click outside it.
import { find } from "./page.ts";

export function startKeys(): void {
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", ({ target }) => {
    const menu = find<HTMLDetailsElement>(".menu[open]");
    if (menu && !menu.contains(target as Node)) menu.open = false;
  });
  showChosen();
}

function onKey(event: KeyboardEvent): void {
  const menu = find<HTMLDetailsElement>(".menu[open]");
  if (event.key === "Escape" && menu) {
    menu.open = false;
    find("summary", menu)?.focus();
  }
  if (event.key === "Escape") find(".narrower:target [href='#projects']")?.click();
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if ((event.target as Element).closest("input, textarea, select, [contenteditable], dialog")) return;
  event.preventDefault();
  const field = find<HTMLInputElement>("#search");
  if (!field) return location.assign("/");
  field.focus();
  field.select();
}

/** Where the categories or the tabs scroll sideways, bring the chosen one into sight. */
export function showChosen(): void {
  for (const chosen of document.querySelectorAll<HTMLElement>(":is(.categories, .tabs) [aria-current]")) {
    const strip = chosen.closest<HTMLElement>(".narrower, .tabs");
    if (!strip) continue;
    const [own, whole] = [chosen.getBoundingClientRect(), strip.getBoundingClientRect()];
    strip.scrollLeft += (own.left + own.right - whole.left - whole.right) / 2;
  }
}
