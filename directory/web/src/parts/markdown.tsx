// A description as Markdown. Its code is loaded when the first one is shown.
import { safeAddress } from "./address.ts";

const shown = new WeakMap<Element, string>();

export function Markdown({ text }: { text: string }) {
  return <div class="prose" dir="auto" ref={(element) => void fill(element, text)} />;
}

async function fill(element: HTMLElement | null, text: string): Promise<void> {
  if (!element || shown.get(element) === text) return;
  shown.set(element, text);
  const { toNodes } = await import("./nodes.ts");
  if (shown.get(element) === text) element.replaceChildren(toNodes(text, safeAddress));
}
