// The rules against spam in the console: their list, and the form of one.
import type { Extra } from "../extra.ts";

const TITLE = "Rules";
const pages = () => import("./pages.ts");

export const spamRules: Extra = {
  name: "spam_rules",
  pages: [
    { pattern: /^\/admin\/rules$/, title: TITLE, load: async () => (await pages()).rules },
    { pattern: /^\/admin\/rules\/(?:new|(\d{1,19}))$/, title: TITLE, load: async () => (await pages()).rule },
  ],
  menu: [{ path: "/admin/rules", name: TITLE, after: "/admin/categories" }],
};
