// What people read of fields and choices, where the console has names and values.
import { signal } from "@preact/signals";
import { api, ask, Problem, type Schemas } from "../../api/client.ts";
import { w } from "../../console/text.ts";
import { onNewCaller } from "../../state/session.ts";

const known = signal<readonly Schemas["ShownField"][]>([]);
let asked = false;
onNewCaller(forgetLabels);

/** Read the labels again when the next one is needed. */
export function forgetLabels(): void {
  asked = false;
}

/** The label of a field; undefined until it is read, and for a field that is offered no more. */
export function labelOf(name: string): string | undefined {
  return fieldOf(name)?.label;
}

/** A value, or several with commas, in words; as it is where it has none. */
export function wordsOf(name: string, text: string): string {
  const { kind, choices = [] } = fieldOf(name) ?? {};
  if (kind === "truth") return { true: w.yes, false: w.no }[text] ?? text;
  return choices.length ? text.split(", ").map((each) => choices.find(({ value }) => value === each)?.label ?? each).join(", ") : text;
}

// They are read for the first name that is shown, so that a directory without such fields asks for nothing.
function fieldOf(name: string): Schemas["ShownField"] | undefined {
  if (!asked) {
    asked = true;
    queueMicrotask(() => void read());
  }
  return known.value.find((each) => each.name === name);
}

/** If this fails, names stand in place of labels. */
async function read(): Promise<void> {
  try {
    known.value = (await ask(api.GET("/api/fields"))).items;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
}
