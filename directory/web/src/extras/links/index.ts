// Links in the console: what was seen of them, and the lists of dead and moved ones.
import { summary } from "../../state/queue-pending.ts";
import type { Extra } from "../extra.ts";
import { Seen, Sign } from "./seen.tsx";
import { l } from "./text.ts";

const filter = { name: "links", label: l.filter, values: ["dead", "moved"], named: l.values };

export const links: Extra = {
  name: "links",
  filter,
  ofAll: filter,
  menu: [{ path: "/admin/projects?links=dead", name: l.dead, after: "/admin/projects", reviews: true, waiting: () => summary.data.value?.dead_links }],
  links: { Seen, Sign },
};
