// The console's own entry: its pages are at /admin, in a bundle of their own.
import "../styles/base.css";
import "../styles/parts.css";
import "../styles/forms.css";
import "../styles/pages.css";
import { extras } from "../extras/index.ts";
import { startApp } from "../parts/app.tsx";
import { startConsoleKeys } from "../state/queue-keys.ts";
import { startPending } from "../state/queue-pending.ts";
import { keepClearOfFocus } from "./clear-of-focus.ts";
import { KeyHelp } from "./key-help.tsx";
import { later } from "./later.tsx";
import { DecisionBar } from "./queue-outcomes.tsx";
import { reviewQueue } from "./queue.tsx";
import { w } from "./text.ts";

/** The pages that are opened seldom, in a file of their own. */
const rare = () => import("./rare-pages.ts");

startConsoleKeys(); // first, so that no key is lost
startPending();
keepClearOfFocus();
// The line on the last decision stands outside of the page, so that a screen reader hears it also when another page opens.
startApp([
  { pattern: /^\/admin$/, page: later(w.pages["/admin"], async () => (await import("./dashboard.tsx")).dashboard) },
  { pattern: /^\/admin\/queue$/, page: reviewQueue },
  { pattern: /^\/admin\/queue\/(\d{1,19})$/, page: reviewQueue },
  { pattern: /^\/admin\/projects$/, page: later(w.pages["/admin/projects"], async () => (await rare()).projects) },
  { pattern: /^\/admin\/users$/, page: later(w.pages["/admin/users"], async () => (await rare()).users) },
  { pattern: /^\/admin\/users\/(\d{1,19})$/, page: later(w.pages["/admin/users"], async () => (await rare()).user) },
  { pattern: /^\/admin\/categories$/, page: later(w.pages["/admin/categories"], async () => (await rare()).categories) },
  { pattern: /^\/admin\/deliveries$/, page: later(w.pages["/admin/deliveries"], async () => (await rare()).deliveries) },
  { pattern: /^\/admin\/audit$/, page: later(w.pages["/admin/audit"], async () => (await rare()).audit) },
  ...extras.flatMap(({ pages = [] }) => pages.map(({ pattern, title, load }) => ({ pattern, page: later(title, load) }))),
], <><DecisionBar /><KeyHelp /></>);
