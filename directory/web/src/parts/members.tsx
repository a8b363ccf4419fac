// What a page of an account shows to a visitor.
import { signInAddress } from "../state/session.ts";
import { f } from "../text.forms.ts";
import { t } from "../text.ts";
import { Empty } from "./states.tsx";

export function MembersOnly({ why = f.membersOnlyWhy }: { why?: string }) {
  return (
    <div class="wide">
      <Empty whole title={f.membersOnly} why={why}>
        <a class="button primary" href={signInAddress()}>{t.signIn}</a>
      </Empty>
    </div>
  );
}
