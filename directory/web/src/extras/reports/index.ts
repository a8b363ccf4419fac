// The reports of visitors in the console: their page, and how many projects have some.
import { summary } from "../../state/queue-pending.ts";
import type { Extra } from "../extra.ts";
import { r } from "./text.ts";

export const reports: Extra = {
  name: "reports",
  pages: [{ pattern: /^\/admin\/reports$/, title: r.reports, load: async () => (await import("./page.tsx")).reports }],
  menu: [{ path: "/admin/reports", name: r.reports, after: "/admin/projects", reviews: true, waiting: () => summary.data.value?.reports }],
};
