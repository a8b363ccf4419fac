// What people read of fields and choices, where the console has names and values.
import { api, ask, type Schemas } from "../../api/client.ts";
import { w } from "../../console/text.ts";
import { Resource } from "../../state/resource.ts";
import { onNewCaller } from "../../state/session.ts";

const OWN = "fields.";
const known = new Resource<readonly Schemas["ShownField"][]>(true);
let isAsked = false;
onNewCaller(forgetLabels);

/** Read the fields again when they are needed next. */
export function forgetLabels(): void {
  isAsked = false;
  known.clear();
}

/** The field at a place. The fields are read when the first one is asked for; what shows them is drawn again then. */
function fieldOf(place: string): Schemas["ShownField"] | undefined {
  if (!place.startsWith(OWN)) return undefined;
  if (!isAsked) {
    isAsked = true;
    queueMicrotask(() => void known.load("labels", async (signal) => (await ask(api.GET("/api/fields", { signal }))).items));
  }
  return known.data.value?.find(({ name }) => place === OWN + name);
}

export function labelOf(place: string): string | undefined {
  return fieldOf(place)?.label;
}

/** A value, or several with commas, in words; as it is where it has none. */
export function labelOfValue(place: string, text: string): string {
  const { kind, choices } = fieldOf(place) ?? { choices: [] };
  if (kind === "truth") return { true: w.yes, false: w.no }[text] ?? text;
  return choices.length ? text.split(", ").map((each) => choices.find(({ value }) => value === each)?.label ?? each).join(", ") : text;
}
