// Results while one types: the same page, read ahead, with its results in the place of the present ones.
import { showChosen } from "./keys.ts";
import { find, readPage, reason, say, tell } from "./page.ts";
import { showTimes } from "./times.ts";

const PAUSE = 150; // milliseconds without a key before a search begins
const FILTER = "#filter";
const PARTS = ["#about", ".narrower", "#results"];
let timer: ReturnType<typeof setTimeout> | undefined;
let reading = new AbortController();

export function startSearch(): void {
  const form = find<HTMLFormElement>("form[role=search]");
  const field = find<HTMLInputElement>("#search");
  if (!form || !field || !find("#results")) return;
  let searched = field.value.trim();
  field.addEventListener("input", later);
  field.addEventListener("compositionend", later);
  let isFiltering = location.hash === FILTER;
  addEventListener("popstate", () => {
    const wasFiltering = isFiltering;
    isFiltering = location.hash === FILTER;
    if (isFiltering || wasFiltering) return; // the sheet of filters is the same page
    field.value = searched = new URLSearchParams(location.search).get("q") ?? "";
    void show(location.href);
  });

  function later(event: Event): void {
    clearTimeout(timer);
    if (!(event as InputEvent).isComposing) timer = setTimeout(search, PAUSE);
  }

  function search(): void {
    const typed = (field as HTMLInputElement).value.trim();
    if (typed === searched) return;
    const url = addressOf(form as HTMLFormElement);
    void show(url, () => {
      // The address of a search in progress takes the place of the one before.
      if (searched && typed) history.replaceState(null, "", url);
      else history.pushState(null, "", url);
      searched = typed;
    });
  }
}

/** The address that the form leads to, without the fields that are empty. */
function addressOf(form: HTMLFormElement): string {
  const url = new URL(form.action);
  for (const [name, value] of new FormData(form)) if (String(value).trim()) url.searchParams.set(name, String(value));
  return url.href;
}

async function show(url: string, arrived?: () => void): Promise<void> {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  find("#results")?.setAttribute("aria-busy", "true");
  try {
    const page = await readPage(url, signal);
    if (signal.aborted) return;
    for (const part of PARTS) {
      const found = find(part, page);
      if (found) find(part)?.replaceWith(document.adoptNode(found));
    }
    document.title = page.title;
    showTimes();
    arrived?.();
    showChosen();
    tell(find("#results [role=status]")); // the one on the page was replaced, so it is not read out by itself
  } catch (error) {
    if (signal.aborted) return;
    find("#results")?.removeAttribute("aria-busy");
    say(reason(error));
  }
}
