// Claims in the console: who looks at an item of the queue.
import type { Extra } from "../extra.ts";
import { Button, Looks, mayClaim, Sign, toggle } from "./claims.tsx";
import { c } from "./text.ts";

export const claims: Extra = {
  name: "claims",
  filter: { name: "claimed", label: c.filter, values: ["none", "me", "others"], named: c.values },
  keys: { c: { does: c.key, act: toggle } },
  claims: { isPossible: mayClaim, of: (item) => ({ claim: item?.claim ?? null }), Looks, Button, Sign },
};
