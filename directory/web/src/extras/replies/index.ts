// Saved replies in the console: texts that reviewers choose for a decision, and the page where administrators write them.
import type { Extra } from "../extra.ts";
import { Menu } from "./menu.tsx";
import { filled, loadReplies, repliesFor } from "./replies.ts";
import { y } from "./text.ts";

export const replies: Extra = {
  name: "replies",
  pages: [{ pattern: /^\/admin\/replies$/, title: y.title, load: async () => (await import("./page.tsx")).savedReplies }],
  menu: [{ path: "/admin/replies", name: y.title, after: "/admin/categories" }],
  saved: { title: y.choose, load: loadReplies, of: repliesFor, filled, Menu },
};
