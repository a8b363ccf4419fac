// What JavaScript puts into a page that the service made without its content: the main part, the account, the notice.
import { effect } from "@preact/signals";
import { type ComponentChild, render } from "preact";
import { Account } from "./account.tsx";
import { Cross } from "./icons.tsx";
import { Empty } from "./states.tsx";
import { dismiss, notice } from "../state/notice.ts";
import { opened, page, type Route, start } from "../state/router.ts";
import { loadSession } from "../state/session.ts";
import { startTheme } from "../reading/theme.ts";
import { t } from "../text.ts";

const site = globalThis.document?.querySelector?.<HTMLMetaElement>('meta[name="application-name"]')?.content ?? "";

/** Show the pages of these routes; `after` is shown below each of them. */
export function startApp(routes: Route[], after?: ComponentChild): void {
  const main = document.getElementById("main") as HTMLElement;
  startTheme();
  void loadSession();
  start(routes);
  // "Page · Site".
  effect(() => {
    document.title = [page.value?.title() ?? t.notFound, site].filter(Boolean).join(" · ");
  });
  render(<><Present />{after}</>, main);
  renderInto("#account", <Account />);
  renderInto(".notice", <NoticeLine />);
  // After a link the focus goes to the new page, which a screen reader then reads.
  effect(() => {
    if (opened.value) main.focus({ preventScroll: true });
  });
}

/** A template of the operator may leave a place out. */
function renderInto(selector: string, what: ComponentChild): void {
  const place = document.querySelector(selector);
  if (place) render(what, place);
}

function Present() {
  const View = page.value?.view ?? NotFound;
  return <View key={opened.value} />;
}

function NotFound() {
  return <div class="wide"><Empty whole title={t.notFound} why={t.notFoundWhy}><a class="button" href="/">{t.toDirectory}</a></Empty></div>;
}

function NoticeLine() {
  const shown = notice.value;
  if (!shown) return null;
  return (
    <p class={shown.bad ? "bad" : ""}>
      <span>{shown.text}</span>
      <button type="button" aria-label={t.close} onClick={dismiss}><Cross /></button>
    </p>
  );
}
