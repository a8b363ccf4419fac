// What stands around every page of the console: the check of the role, the navigation, and the dialog that asks.
import "../styles/console.css";
import type { ComponentChildren } from "preact";
import type { MenuEntry } from "../extras/extra.ts";
import { extras } from "../extras/index.ts";
import { showPresent } from "../parts/tabs.ts";
import { help } from "../state/queue-keys.ts";
import { pending } from "../state/queue-pending.ts";
import { address } from "../state/router.ts";
import { isAdministrator } from "../state/session.ts";
import { t } from "../text.ts";
import { QuestionDialog } from "./dialog.tsx";
import { Gate } from "./gate.tsx";
import { w } from "./text.ts";

interface FrameProps {
  /** The page's heading, or its replacement. */
  title: ComponentChildren;
  kind?: string;
  /** Whether it is for reviewers too. */
  reviews?: boolean;
  children: ComponentChildren;
}

export function Frame({ title, kind = "", reviews = false, children }: FrameProps) {
  return (
    <Gate reviews={reviews}>
      <div class={`wide console ${kind}`}>
        <ConsoleNav />
        {typeof title === "string" ? <h1>{title}</h1> : title}
        {children}
      </div>
      <QuestionDialog />
    </Gate>
  );
}

const REVIEWERS = ["/admin/queue", "/admin/projects"]; // the pages of the core that reviewers have

const added = extras.flatMap(({ menu = [] }) => menu);
const menu: readonly MenuEntry[] = Object.entries(w.pages).flatMap(([path, name]) => [
  { path, name, after: "", reviews: REVIEWERS.includes(path), waiting: () => (path === "/admin/queue" ? pending.value ?? 0 : 0) },
  ...added.filter(({ after }) => after === path),
]);

function ConsoleNav() {
  const { pathname, search } = address.value;
  const exact = menu.some(({ path }) => path === pathname + search);
  return (
    <div class="tabs console-nav">
      <nav aria-label={w.nav} ref={(nav) => showPresent(nav)}>
        {menu.filter(({ reviews }) => reviews || isAdministrator.value).map(({ path, name, waiting = () => 0 }) => {
          const here = exact ? path === pathname + search : path === "/admin" ? pathname === path : pathname.startsWith(path);
          const number = waiting();
          return number != null && <a key={path} href={path} aria-current={here ? "page" : undefined}>{name}{number ? <Waiting number={number} /> : null}</a>;
        })}
      </nav>
      <button type="button" class="button small ghost keys" onClick={() => (help.value = true)}>{w.keys} <kbd>?</kbd></button>
    </div>
  );
}

/** How much waits on a page. */
function Waiting({ number }: { number: number }) {
  return <span class="count" role="img" aria-label={w.waitingHere(number)}>{t.number(number)}</span>;
}
