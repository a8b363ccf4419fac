// Fields of the operator's own in the console: their list, the form of one, and their labels where values are compared.
import type { Extra } from "../extra.ts";
import { labelOf, labelOfValue } from "./labels.ts";

const TITLE = "Fields";
const pages = () => import("./pages.ts");

export const fields: Extra = {
  name: "fields",
  pages: [
    { pattern: /^\/admin\/fields$/, title: TITLE, load: async () => (await pages()).list },
    { pattern: /^\/admin\/fields\/new$/, title: TITLE, load: async () => (await pages()).form },
    { pattern: /^\/admin\/fields\/of\/([a-z][a-z0-9_]{0,31})$/, title: TITLE, load: async () => (await pages()).form },
  ],
  menu: [{ path: "/admin/fields", name: TITLE, after: "/admin/categories" }],
  own: { labelOf, labelOfValue },
};
