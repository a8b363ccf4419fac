// A description, as the service rendered it.
import { toNodes } from "./markdown-nodes.ts";

export function Markdown({ html }: { html: string }) {
  return <div class="prose" ref={(element) => element?.replaceChildren(toNodes(html))} />;
}
