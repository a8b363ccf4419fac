// The HTML of a description, as the service wrote it, as elements. No parser of the browser reads it: the pages' policy
// refuses that, and an element or attribute that is not in these lists becomes nothing.
import { safeAddress } from "./address.ts";

const PIECES = /<(\/?)([a-z0-9]+)((?: [a-z]+="[^"]*")*)>|([^<]+)/g;
const ELEMENTS = new Set(
  "a blockquote br code em h2 hr li ol p pre s strong table tbody td th thead tr ul".split(" "),
);
const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: "\u00a0" };

export function toNodes(html: string): DocumentFragment {
  const root = document.createDocumentFragment();
  const open: (DocumentFragment | HTMLElement)[] = [root];
  for (const [, end, name = "", attributes = "", text] of html.matchAll(PIECES)) {
    if (text !== undefined) open.at(-1)?.append(decoded(text));
    else if (end && open.at(-1)?.nodeName.toLowerCase() === name) open.pop();
    else if (!end && ELEMENTS.has(name)) {
      const element = elementOf(name, attributes);
      open.at(-1)?.append(element);
      if (name !== "br" && name !== "hr") open.push(element);
    }
  }
  return root;
}

function elementOf(name: string, attributes: string): HTMLElement {
  const element = document.createElement(name);
  const [, href] = / href="([^"]*)"/.exec(attributes) ?? [];
  const [, dir] = / dir="(auto|ltr|rtl)"/.exec(attributes) ?? [];
  const [, start] = / start="(\d+)"/.exec(attributes) ?? [];
  const address = name === "a" && href ? safeAddress(decoded(href)) : null;
  if (address) {
    element.setAttribute("href", address);
    element.setAttribute("rel", "nofollow ugc noopener");
  }
  if (dir) element.setAttribute("dir", dir);
  if (name === "ol" && start) element.setAttribute("start", start);
  return element;
}

function decoded(text: string): string {
  return text.replace(/&(\w+);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
