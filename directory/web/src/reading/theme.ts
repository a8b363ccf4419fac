// Light or dark: as the system says, until the switch says otherwise. The choice is of this browser, and of no account.
import { find } from "./page.ts";
import { word } from "./words.ts";

const KEY = "theme";
const ICONS: Record<string, string> = { system: "half", light: "light", dark: "dark" };
const SVG = "http://www.w3.org/2000/svg";

export function startTheme(): void {
  const button = find<HTMLButtonElement>(".look");
  let theme = remembered();
  show();
  button?.addEventListener("click", () => {
    const order = Object.keys(ICONS);
    theme = order[(order.indexOf(theme) + 1) % order.length] as string;
    store(theme);
    show();
  });

  function show(): void {
    document.documentElement.dataset.theme = theme;
    if (!button) return;
    button.hidden = false;
    button.ariaLabel = button.title = word(`Theme: ${theme}`);
    button.replaceChildren(icon(ICONS[theme] as string));
  }
}

/** An icon of the page. */
export function icon(name: string): SVGElement {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("class", "icon");
  picture.setAttribute("width", "16");
  picture.setAttribute("height", "16");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  picture.append(use);
  return picture;
}

function remembered(): string {
  try {
    const found = localStorage.getItem(KEY) ?? "";
    return found in ICONS ? found : "system";
  } catch {
    return "system";
  }
}

function store(theme: string): void {
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Where nothing may be stored the choice holds for this page.
  }
}
