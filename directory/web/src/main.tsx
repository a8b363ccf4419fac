// The public pages: their routes, and what begins with them.
import { effect } from "@preact/signals";
import { render } from "preact";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/forms.css";
import "./styles/pages.css";
import { home } from "./pages/home.tsx";
import { member } from "./pages/member.tsx";
import { project } from "./pages/project.tsx";
import { App, nameDocument } from "./parts/app.tsx";
import { startKeys } from "./state/keys.ts";
import { start, type Route } from "./state/router.ts";
import { loadSession } from "./state/session.ts";
import { startTheme } from "./state/theme.ts";

const mine = () => import("./pages/members.ts");
const routes: Route[] = [
  { pattern: /^\/$/, page: home },
  { pattern: /^\/p\/(\d{1,19})\/[^/]+$/, page: project },
  { pattern: /^\/users\/([^/]+)$/, page: member },
  { pattern: /^\/submit$/, page: async () => (await mine()).submit },
  { pattern: /^\/mine$/, page: async () => (await mine()).mine },
  { pattern: /^\/account$/, page: async () => (await mine()).account },
];

startKeys(); // first, so that no key is lost
startTheme();
void loadSession();
start(routes);
effect(nameDocument);
render(<App />, document.getElementById("app") as HTMLElement);
