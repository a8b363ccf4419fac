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
import { dashboard } from "./dashboard.tsx";

startTheme();
void loadSession();
start([{ pattern: /^\/admin$/, page: dashboard }]);
effect(nameDocument);
render(<App />, document.getElementById("app") as HTMLElement);
