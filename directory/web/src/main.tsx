// The pages of members: their routes, and what begins with them.
import { effect } from "@preact/signals";
import { render } from "preact";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/forms.css";
import "./styles/pages.css";
import { account } from "./pages/account.tsx";
import { mine } from "./pages/mine.tsx";
import { submit } from "./pages/submit.tsx";
import { App, nameDocument } from "./parts/app.tsx";
import { start } from "./state/router.ts";
import { loadSession } from "./state/session.ts";
import { startTheme } from "./state/theme.ts";

startTheme();
void loadSession();
start([
  { pattern: /^\/submit$/, page: submit },
  { pattern: /^\/mine$/, page: mine },
  { pattern: /^\/account$/, page: account },
]);
effect(nameDocument);
render(<App />, document.getElementById("app") as HTMLElement);
