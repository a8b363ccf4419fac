// What is written survives a closed tab: a draft for each account and form, gone once it is sent.
import { drop, keep, kept, noteSent } from "../reading/drafts.ts";
import { find } from "../reading/page.ts";
import { sentences, word } from "../reading/words.ts";
import { button, draftOf, element, fieldOf, textsOf } from "./project.ts";

/** Keep what is written in the form of a project, in an answer to the reviewers and in an appeal. */
export function startDrafts(): void {
  document.querySelectorAll<HTMLFormElement>("form[data-project], form[data-draft]").forEach(startDraft);
}

function startDraft(form: HTMLFormElement): void {
  const [key, shown] = [draftOf(form), textsOf(form)];
  if (!("typed" in form.dataset)) fill(form, kept(key) ?? {});
  offerToDiscard(form, key);
  for (const kind of ["input", "change"]) form.addEventListener(kind, () => store(form, key, shown));
  if ("typed" in form.dataset) store(form, key, {});
  form.addEventListener("submit", () => {
    store(form, key, shown);
    noteSent(key);
  });
}

/** Take over what is kept, with the version that it began from: if another one was saved since, both are shown. */
function fill(form: HTMLFormElement, texts: Record<string, string>): void {
  const names = Object.keys(texts);
  // The boxes of a choice that the draft has are ticked as they were.
  for (const box of form.querySelectorAll<HTMLInputElement>(".check input[type=checkbox]")) {
    if (names.some((name) => box.name.startsWith(`${name}.`))) box.checked = box.name in texts;
  }
  for (const [name, text] of Object.entries(texts)) {
    const field = fieldOf(form, name);
    if (!field || typeof text !== "string") continue;
    if (field.type === "checkbox") field.checked = true;
    else if (field.type !== "file") field.value = text;
  }
}

function store(form: HTMLFormElement, key: string, shown: Record<string, string>): void {
  const now = textsOf(form);
  const isChanged = Object.keys({ ...shown, ...now }).some((name) => name !== "version" && (now[name] ?? "") !== (shown[name] ?? ""));
  if (isChanged) keep(key, now);
  else drop(key);
  const line = find(".draft", form);
  if (line) line.hidden = !isChanged;
}

function offerToDiscard(form: HTMLFormElement, key: string): void {
  const line = element("span", "draft small muted", sentences(word("Your draft is stored in this browser."), ""));
  line.hidden = !kept(key);
  line.append(button("link", word("Discard the draft"), () => {
    drop(key);
    location.assign(form.action);
  }));
  find(":scope > .actions", form)?.append(line);
}
