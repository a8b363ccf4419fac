// What people read of fields and choices, where the console has names and values.
import { api, ask, type Schemas } from "../../api/client.ts";
import { Resource } from "../../state/resource.ts";
import { onNewCaller } from "../../state/session.ts";

const known = new Resource<readonly Schemas["ShownField"][]>(true);
onNewCaller(() => known.clear());

/** Read the fields. If that fails, those of the last time stay. */
export function loadLabels(): Promise<void> {
  return known.load("fields", async (signal) => (await ask(api.GET("/api/fields", { signal }))).items);
}

function fieldOf(name: string): Schemas["ShownField"] | undefined {
  return known.data.value?.find((each) => each.name === name);
}

export function labelOf(name: string): string | undefined {
  return fieldOf(name)?.label;
}

/** A value, or several with commas, in words; as it is where it has none. */
export function labelOfValue(name: string, text: string): string {
  const choices = fieldOf(name)?.choices ?? [];
  return choices.length ? text.split(", ").map((each) => choices.find(({ value }) => value === each)?.label ?? each).join(", ") : text;
}
