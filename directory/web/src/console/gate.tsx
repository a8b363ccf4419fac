// Who sees the console: administrators. Others see why not.
import type { ComponentChildren } from "preact";
import { MembersOnly } from "../parts/members.tsx";
import { Empty, Failed, Skeleton } from "../parts/states.tsx";
import { loadSession, session, sessionProblem, user } from "../state/session.ts";
import { t } from "../text.ts";
import { w } from "./text.ts";

export function Gate({ children }: { children: ComponentChildren }) {
  const problem = sessionProblem.value;
  if (!session.value) return <div class="wide">{problem ? <Failed whole problem={problem} again={() => void loadSession()} /> : <Skeleton rows={3} />}</div>;
  if (!user.value) return <MembersOnly why={w.consoleWhy} />;
  if (!user.value.is_admin) {
    return <div class="wide"><Empty whole title={w.adminsOnly} why={w.adminsOnlyWhy}><a class="button" href="/">{t.toDirectory}</a></Empty></div>;
  }
  return <>{children}</>;
}
