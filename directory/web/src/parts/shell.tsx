// What stands around every public page.
import type { ComponentChildren } from "preact";
import { t } from "../text.ts";
import { dismiss, notice } from "../state/notice.ts";
import { opened } from "../state/router.ts";
import { readOnly, signInAddress, session, signOut, siteName, user } from "../state/session.ts";
import { nextTheme, theme } from "../state/theme.ts";
import { Cross, Half, Moon, Person, Plus, Sun } from "./icons.tsx";

export function Shell({ children }: { children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#main">{t.skip}</a>
      <Header />
      {readOnly.value && <p class="strip" role="status">{t.readOnly}</p>}
      <main id="main" tabIndex={-1} key={opened.value} ref={focusNewPage}>{children}</main>
      <Footer />
      <NoticeLine />
    </>
  );
}

/** After a link the focus goes to the new page, which a screen reader then reads. */
function focusNewPage(main: HTMLElement | null): void {
  if (main && opened.peek() && main.dataset.opened !== String(opened.peek())) {
    main.dataset.opened = String(opened.peek());
    main.focus({ preventScroll: true });
  }
}

// The operator's logo and links, as the page came with them.
const logo = globalThis.document?.querySelector?.<HTMLMetaElement>('meta[name="site-logo"]')?.content;
const links = [...globalThis.document?.querySelectorAll?.<HTMLAnchorElement>("#site-links a") ?? []];

function Header() {
  return (
    <header class="top">
      <div class="wide">
        <a class="site" href="/">{logo ? <img class="logo own" src={logo} width="24" height="24" alt="" /> : <span class="logo" aria-hidden="true" />}<span class="name">{siteName.value}</span></a>
        <nav aria-label={t.account}>
          <a class="button primary" href="/submit"><Plus /><span class="full">{t.submit}</span><span class="brief">{t.submitShort}</span></a>
          {user.value ? <Menu name={user.value.username} admin={user.value.is_admin} /> : <SignedOut />}
        </nav>
      </div>
    </header>
  );
}

function SignedOut() {
  // Until it is known who is signed in the button keeps its place, unseen, so that nothing moves.
  return <a class={`button${session.value ? "" : " waiting"}`} href={signInAddress()}>{t.signIn}</a>;
}

function Menu({ name, admin }: { name: string; admin: boolean }) {
  return (
    <details class="menu" onClick={closeAfterChoice} onKeyDown={closeByEscape} onFocusOut={closeWhenLeft}>
      <summary class="button" aria-label={`${t.account}: ${name}`}><Person /><span class="full">{name}</span></summary>
      <div class="sheet">
        <a href="/mine">{t.yours}</a>
        <a href={`/users/${name}`}>{t.profile}</a>
        <a href="/account">{t.account}</a>
        {admin && <a href="/admin">{t.console}</a>}
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

function ThemeSwitch() {
  const Icon = { system: Half, light: Sun, dark: Moon }[theme.value];
  const label = t.theme[theme.value];
  return <button type="button" class="look" onClick={nextTheme}><Icon />{label}</button>;
}

function Footer() {
  const service = session.value?.service;
  return (
    <footer class="wide foot">
      {links.map((link) => <a key={link.href} href={link.href} target="_self" dir="auto">{link.textContent}</a>)}
      <a href="/api/docs" target="_self">{t.footerApi}</a>
      <a href="/api/projects.atom" target="_self">{t.footerFeed}</a>
      {service && <span>{t.version(service.version, service.commit)}</span>}
      <ThemeSwitch />
    </footer>
  );
}

function NoticeLine() {
  const shown = notice.value;
  return (
    <div class="notice" role="status">
      {shown && (
        <p class={shown.bad ? "bad" : ""}>
          <span>{shown.text}</span>
          <button type="button" aria-label={t.close} onClick={dismiss}><Cross /></button>
        </p>
      )}
    </div>
  );
}
