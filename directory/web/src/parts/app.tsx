// The page of the address within its frame, and its name in the browser's title bar.
import { NotFound } from "./notfound.tsx";
import { Shell } from "./shell.tsx";
import { Empty, Skeleton } from "./states.tsx";
import { failed, page } from "../state/router.ts";
import { siteName } from "../state/session.ts";
import { t } from "../text.ts";

export function App() {
  return <Shell><Present /></Shell>;
}

function Present() {
  const shown = page.value;
  if (failed.value) return <NotLoaded />;
  if (shown === null) return <NotFound />;
  if (!shown) return <div class="wide"><Skeleton rows={3} /></div>;
  const View = shown.view;
  return <View />;
}

function NotLoaded() {
  return (
    <Empty whole title={t.unreachable} why={t.unreachableDetail}>
      <button type="button" class="button" onClick={() => location.reload()}>{t.tryAgain}</button>
    </Empty>
  );
}

/** "Page · Site", once both are known; until then the document keeps the title that it came with. */
export function nameDocument(): void {
  const site = siteName.value;
  const name = page.value?.title() ?? "";
  if (site && page.value !== undefined) document.title = name && name !== site ? `${name} · ${site}` : site;
}
