// "Show more" adds the rows of the next page to this one, and takes over its address.
import { find, readPage, reason, say, tell } from "./page.ts";
import { showTimes } from "./times.ts";

let busy = false;

export function startMore(): void {
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>(".pager [rel~=next]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void add(link);
  });
}

async function add(link: HTMLAnchorElement): Promise<void> {
  if (busy) return;
  busy = true;
  link.ariaDisabled = "true";
  try {
    const url = link.href;
    const page = await readPage(url);
    const rows = find(".rows");
    if (!rows || !link.isConnected) return;
    const added = [...(find(".rows", page)?.children ?? [])].filter((each) => !isHere(each));
    rows.append(...added.map((each) => document.adoptNode(each)));
    showTimes();
    history.replaceState(null, "", url);
    goOn(link, page, added.find((each) => each.matches(".row")));
  } catch (error) {
    say(reason(error));
  } finally {
    busy = false;
    link.ariaDisabled = null;
  }
}

/** Whether this page has it already: a row that moved down meanwhile, or the last heading. */
function isHere(each: Element): boolean {
  const day = find("time", each)?.getAttribute("datetime");
  return Boolean(each.id ? document.getElementById(each.id) : find(`.day time[datetime="${day}"]`));
}

/** Have the links name the pages before and after the one that was added; the focus stays where it was. */
function goOn(link: HTMLAnchorElement, page: Document, first?: Element): void {
  const next = find<HTMLAnchorElement>(".pager [rel~=next]", page);
  const place = find(".pager .muted");
  if (place) place.textContent = find(".pager .muted", page)?.textContent ?? "";
  tell(place);
  if (next) {
    link.href = next.href;
    return;
  }
  const hadFocus = document.activeElement === link;
  link.remove();
  if (hadFocus) find("a", first ?? document)?.focus();
}
