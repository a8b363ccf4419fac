// What stands around every table of the console: who may see it, where else one can go, and the dialog that asks.
import "../styles/console-tables.css";
import type { ComponentChildren } from "preact";
import { address } from "../state/router.ts";
import { QuestionDialog } from "./dialog.tsx";
import { Gate } from "./gate.tsx";
import { w } from "./tables-text.ts";

export function Frame({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <Gate>
      <div class="wide console">
        <ConsoleNav />
        <h1>{title}</h1>
        {children}
      </div>
      <QuestionDialog />
    </Gate>
  );
}

function ConsoleNav() {
  const { pathname } = address.value;
  return (
    <nav class="tabs console-nav" aria-label={w.nav}>
      {Object.entries(w.pages).map(([path, name]) => {
        const here = path === "/admin" ? pathname === path : pathname.startsWith(path);
        return <a key={path} href={path} aria-current={here ? "page" : undefined}>{name}</a>;
      })}
    </nav>
  );
}
