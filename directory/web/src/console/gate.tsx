// Who sees a page of the console: administrators, and some pages reviewers. Others see why not.
import type { ComponentChildren } from "preact";
import type { Problem } from "../api/client.ts";
import { MembersOnly } from "../parts/members.tsx";
import { hasPasskeys } from "../parts/passkey.ts";
import { Empty, Failed, Skeleton } from "../parts/states.tsx";
import { Wrong } from "../parts/wrong.tsx";
import { busy, signInByPasskey, wrong } from "../state/passkey.ts";
import { isAdministrator, loadSession, mayReview, session, sessionProblem, user } from "../state/session.ts";
import { t } from "../text.ts";
import { w } from "./text.ts";

/** A component of its own: else Preact would reuse its skeleton in a page that shows one, and move it below the heading. */
function Unknown({ problem }: { problem: Problem | null }) {
  return (
    <div class="wide console">
      {problem ? <Failed whole problem={problem} again={() => void loadSession()} /> : <Skeleton rows={3} />}
    </div>
  );
}

/** Who reviews or administers has to sign in by a passkey, and adds one before. */
function NeedsPasskey() {
  return (
    <div class="wide">
      <Empty whole title={w.passkeyNeeded} why={w.passkeyNeededWhy}>
        {hasPasskeys() && <button type="button" class="button primary" disabled={busy.value} onClick={() => void signInByPasskey()}>{w.passkeyNeeded}</button>}
        <a class="button" href="/account">{w.toPasskeys}</a>
        <Wrong why={wrong.value} />
      </Empty>
    </div>
  );
}

/** `reviews`: whether the page is for reviewers too. */
export function Gate({ reviews, children }: { reviews: boolean; children: ComponentChildren }) {
  const problem = sessionProblem.value;
  if (!session.value) return <Unknown problem={problem} />;
  if (!user.value) return <MembersOnly why={w.consoleWhy} />;
  if (session.value.passkey_required) return <NeedsPasskey />;
  if (!(reviews ? mayReview : isAdministrator).value) {
    const [to, name] = mayReview.value ? ["/admin/queue", w.pages["/admin/queue"]] : ["/", t.toDirectory];
    return <div class="wide"><Empty whole title={w.notYours(reviews)} why={w.notYoursWhy}><a class="button" href={to}>{name}</a></Empty></div>;
  }
  return <>{children}</>;
}
