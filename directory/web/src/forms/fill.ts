// "Fill in from the website": what it says of itself in the fields that are empty, without another page.
import { dataOf, find, reason, speaking, UNREACHABLE } from "../reading/page.ts";
import { word } from "../reading/words.ts";
import { element, fieldOf, projectForm, withScheme } from "./project.ts";

export function startFill(): void {
  const form = projectForm();
  const press = find<HTMLButtonElement>("[data-fill]");
  if (!form || !press) return;
  const [row, line] = [element("p", "actions"), element("span", "small muted")];
  line.setAttribute("role", "status");
  press.type = "button"; // Enter in a field sends the form
  row.append(press, line);
  fieldOf(form, "url").closest(".field")?.after(row);
  press.addEventListener("click", () => void fill(form, press, line));
}

async function fill(form: HTMLFormElement, press: HTMLButtonElement, line: HTMLElement): Promise<void> {
  const url = withScheme(fieldOf(form, "url").value);
  if (!url) return fieldOf(form, "url").focus();
  press.disabled = true;
  line.textContent = word("Loading…");
  const headers = { ...speaking(), "Content-Type": "application/json" };
  try {
    const answer = await fetch("/api/links/preview", { method: "POST", headers, body: JSON.stringify({ url }) }).catch(() => {
      throw new Error(UNREACHABLE);
    });
    const found: Record<string, string | null> = await dataOf(answer);
    const names = Object.keys(found).filter((name) => found[name] && !fieldOf(form, name).value.trim());
    for (const name of names) {
      fieldOf(form, name).value = found[name] ?? "";
      fieldOf(form, name).dispatchEvent(new Event("input", { bubbles: true }));
    }
    line.textContent = word(names.length ? "Filled in. Look at each field." : "The website says nothing for the empty fields.");
  } catch (error) {
    line.textContent = reason(error);
  } finally {
    press.disabled = false;
  }
}
