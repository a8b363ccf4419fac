// What stands around every page of the console: the check of the role, the navigation, and the dialog that asks.
import "../styles/console.css";
import type { ComponentChildren } from "preact";
import { extras } from "../extras/index.ts";
import { showPresent } from "../parts/tabs.ts";
import { help } from "../state/queue-keys.ts";
import { pending, summary } from "../state/queue-pending.ts";
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

const REVIEWERS = ["/admin/queue", "/admin/projects", "/admin/reports"]; // the pages that reviewers have

/** The pages of the console, those of the extras in their places: the address of each, and its name. */
function pages(): [path: string, name: string][] {
  const found = Object.entries<string>(w.pages);
  for (const { path, title, before } of extras.flatMap((each) => each.menu ?? [])) {
    found.splice(found.findIndex(([other]) => other === before), 0, [path, title]);
  }
  return found;
}

/** Whether the navigation leads to a page: reports may be switched off. */
function isShown(path: string): boolean {
  if (path === "/admin/reports" && summary.data.value?.reports == null) return false;
  return isAdministrator.value || REVIEWERS.includes(path);
}

function ConsoleNav() {
  const { pathname } = address.value;
  const number = pending.value;
  return (
    <div class="tabs console-nav">
      <nav aria-label={w.nav} ref={(nav) => showPresent(nav)}>
        {pages().filter(([path]) => isShown(path)).map(([path, name]) => {
          const here = path === "/admin" ? pathname === path : pathname.startsWith(path);
          const counted = path === "/admin/queue" ? number : path === "/admin/reports" ? summary.data.value?.reports : 0;
          return <a key={path} href={path} aria-current={here ? "page" : undefined}>{name}{counted ? <Waiting number={counted} /> : null}</a>;
        })}
      </nav>
      <button type="button" class="button small ghost keys" onClick={() => (help.value = true)}>{w.keys} <kbd>?</kbd></button>
    </div>
  );
}

/** How many submissions, or projects with reports, wait. */
function Waiting({ number }: { number: number }) {
  return <span class="count" role="img" aria-label={w.waitingHere(number)}>{t.number(number)}</span>;
}
