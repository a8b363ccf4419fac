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
const OWN = ["submit", "mine", "account", "reset", "verify"] as const;
const routes: Route[] = [
  { pattern: /^\/$/, page: home },
  { pattern: /^\/p\/(\d{1,19})\/[^/]+$/, page: project },
  { pattern: /^\/users\/([^/]+)$/, page: member },
  ...OWN.map((name): Route => ({ pattern: RegExp(`^/${name}$`), page: async () => (await mine())[name] })),
];

startKeys(); // first, so that no key is lost
startTheme();
void loadSession();
start(routes);
effect(nameDocument);
render(<App />, document.getElementById("app") as HTMLElement);
