// Light or dark: as the system says, until the switch says otherwise. The choice is of this browser, and of no account.
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "theme";
const ORDER: Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>(remembered());

/** Follow the signal: the document's look, and what is remembered. */
export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    try {
      if (theme.value === "system") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, theme.value);
    } catch {
      // Where nothing may be stored the choice holds for this page.
    }
  });
}

export function nextTheme(): void {
  theme.value = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length] as Theme;
}

function remembered(): Theme {
  try {
    const found = localStorage.getItem(KEY) as Theme;
    return ORDER.includes(found) ? found : "system";
  } catch {
    return "system";
  }
}
