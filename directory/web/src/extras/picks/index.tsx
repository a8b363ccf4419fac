// Picks in the console: a live project is picked, with words that say why. Their part of the pane is loaded with the first.
import { signal } from "@preact/signals";
import type { Item } from "../../state/queue.ts";
import type { Extra } from "../extra.ts";

type Part = typeof import("./pick.tsx");
const part = signal<Part | null>(null);

async function load(): Promise<Part> {
  return (part.value ??= await import("./pick.tsx"));
}

function Pick({ item }: { item: Item }) {
  if (part.value) return <part.value.Pick item={item} />;
  void load();
  return null;
}

export const picks: Extra = {
  name: "picks",
  keys: { p: { does: "Pick the live project that is shown", act: () => void load().then(({ askAboutShown }) => askAboutShown()) } },
  picks: { Pick },
};
