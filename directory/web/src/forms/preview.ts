// The description as its page will show it, in the place of its text.
import { toNodes } from "../parts/markdown-nodes.ts";
import { dataOf, reason, speaking, UNREACHABLE } from "../reading/page.ts";
import { sentences, word } from "../reading/words.ts";
import { button, element, fieldOf, projectForm } from "./project.ts";

export function startPreview(): void {
  const form = projectForm();
  if (!form) return;
  const field = fieldOf(form, "description");
  const [tabs, box] = [element("div", "tabs small"), element("div", "box prose")];
  const write = button("", word("Write"), () => show(false));
  const preview = button("", word("Preview"), () => show(true));
  box.dir = "auto";
  box.tabIndex = 0;
  box.setAttribute("aria-label", word("As the page will show it"));
  box.setAttribute("role", "region");
  tabs.append(write, preview);
  field.before(tabs);
  field.after(box);
  show(false);

  function show(isPreview: boolean): void {
    write.ariaPressed = String(!isPreview);
    preview.ariaPressed = String(isPreview);
    field.hidden = isPreview;
    box.hidden = !isPreview;
    if (isPreview) void render(field.value, box);
  }
}

async function render(text: string, box: HTMLElement): Promise<void> {
  box.textContent = word(text.trim() ? "Loading…" : "There is no description yet.");
  if (!text.trim()) return;
  const headers = { ...speaking(), "Content-Type": "application/json" };
  try {
    const answer = await fetch("/api/markdown", { method: "POST", headers, body: JSON.stringify({ text }) }).catch(() => {
      throw new Error(UNREACHABLE);
    });
    box.replaceChildren(toNodes((await dataOf(answer)).html));
  } catch (error) {
    box.textContent = sentences(word("The preview cannot be shown."), reason(error));
  }
}
