// The console's own entry: its pages are at /admin, in a bundle of their own.
import { effect } from "@preact/signals";
import { render } from "preact";
import "../styles/base.css";
import "../styles/parts.css";
import "../styles/forms.css";
import "../styles/pages.css";
import { App, nameDocument } from "../parts/app.tsx";
import { start } from "../state/router.ts";
import { loadSession } from "../state/session.ts";
import { startTheme } from "../state/theme.ts";
import { startConsoleKeys } from "../state/queue-keys.ts";
import { dashboard } from "./dashboard.tsx";
import { QueueFrame } from "./queue-frame.tsx";
import { reviewQueue } from "./queue.tsx";

startConsoleKeys(); // first, so that no key is lost
startTheme();
void loadSession();
start([
  { pattern: /^\/admin$/, page: dashboard },
  { pattern: /^\/admin\/queue$/, page: reviewQueue },
  { pattern: /^\/admin\/queue\/(\d{1,19})$/, page: reviewQueue },
]);
effect(nameDocument);
render(<><App /><QueueFrame /></>, document.getElementById("app") as HTMLElement);
