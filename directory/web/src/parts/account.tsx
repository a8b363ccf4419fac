// Whose account it is, in the header.
import { session, signInAddress, signOut, user } from "../state/session.ts";
import { t } from "../text.ts";
import { Person } from "./icons.tsx";

export function Account() {
  if (user.value) return <Menu name={user.value.username} reviews={user.value.permissions.length > 0} unread={user.value.unread > 0} />;
  // Until it is known who is signed in the button keeps its place, unseen, so that nothing moves.
  return <a class={`button${session.value ? "" : " waiting"}`} href={signInAddress()}>{t.signIn}</a>;
}

function Menu({ name, reviews, unread }: { name: string; reviews: boolean; unread: boolean }) {
  return (
    <details class="menu" onClick={closeAfterChoice} onKeyDown={closeByEscape} onFocusOut={closeWhenLeft}>
      <summary class="button" aria-label={`${t.account}: ${name}${unread ? t.withUnread : ""}`}><Person />{unread && <span class="unread" />}<span class="full">{name}</span></summary>
      <div class="sheet">
        <a href="/mine">{t.yours}</a>
        <a href={`/users/${name}`}>{t.profile}</a>
        <a href="/account">{t.account}</a>
        {reviews && <a href="/admin">{t.console}</a>}
        <button type="button" onClick={() => void signOut()}>{t.signOut}</button>
      </div>
    </details>
  );
}

function closeAfterChoice(event: MouseEvent): void {
  const menu = event.currentTarget as HTMLDetailsElement;
  if ((event.target as Element).closest(".sheet a, .sheet button")) menu.open = false;
}

function closeByEscape(event: KeyboardEvent): void {
  const menu = event.currentTarget as HTMLDetailsElement;
  if (event.key !== "Escape" || !menu.open) return;
  menu.open = false;
  menu.querySelector("summary")?.focus();
}

function closeWhenLeft(event: FocusEvent): void {
  const menu = event.currentTarget as HTMLDetailsElement;
  if (event.relatedTarget && !menu.contains(event.relatedTarget as Node)) menu.open = false;
}
