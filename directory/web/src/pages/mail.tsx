// What an account has to do with mail: whether the address is confirmed, and whether decisions are mailed.
import { Wrong } from "../parts/wrong.tsx";
import { busy, sendVerification, setNotify } from "../state/account.ts";
import { session, user } from "../state/session.ts";
import { f } from "../text.forms.ts";

export function Mail() {
  const member = user.value;
  if (!session.value?.password_reset || !member) return null;
  return (
    <section class="card">
      <h2>{f.mailTitle}</h2>
      <p class={member.email_verified ? "muted" : ""}>{member.email_verified ? f.mailVerified(member.email) : f.mailUnverified(member.email)}</p>
      <div class="form">
        <Wrong form="mail" />
        {!member.email_verified && (
          <button type="button" class="button" aria-disabled={busy.value === "mail"} onClick={() => void sendVerification()}>{f.mailVerify}</button>
        )}
        <label class="check">
          <input type="checkbox" defaultChecked={member.notify} onChange={(event) => void switchNotify(event.currentTarget)} />
          <span>{f.mailNotify}</span>
        </label>
      </div>
    </section>
  );
}

async function switchNotify(box: HTMLInputElement): Promise<void> {
  if (!(await setNotify(box.checked))) box.checked = !box.checked;
}
