// What the console shows to a visitor.
import { signInAddress } from "../state/session.ts";
import { t } from "../text.ts";
import { Empty } from "./states.tsx";

export function MembersOnly({ why }: { why: string }) {
  return (
    <div class="wide">
      <Empty whole title={t.membersOnly} why={why}>
        <a class="button primary" href={signInAddress()}>{t.signIn}</a>
      </Empty>
    </div>
  );
}
