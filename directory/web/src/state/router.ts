// Where one is: the address as a signal, links without a page load, and the place in a page that back returns to.
import { batch, computed, signal } from "@preact/signals";

/** What an address shows. */
export interface Page {
  /** Starts what the page shows; called for every address of its route. */
  enter?: (match: string[], query: URLSearchParams) => void;
  view: () => any;
  title: () => string;
}

/** Addresses of one kind, and their page. */
export interface Route {
  pattern: RegExp;
  page: Page;
}

const START = "http://localhost/";
const places = new Map<number, number>(); // entry of the history -> how far its page was scrolled
let routes: Route[] = [];
let entry = 0;

export const address = signal(new URL(globalThis.location?.href ?? START));
export const query = computed(() => address.value.searchParams);
/** The page that is shown: null where there is none at the address. */
export const page = signal<Page | null>(null);
/** Counts the pages that were opened by a link, for the focus that goes to the new page's heading. */
export const opened = signal(0);

/** Handle the addresses of these routes, beginning with the present one. */
export function start(handled: Route[]): void {
  routes = handled;
  entry = history.state?.entry ?? Date.now();
  history.scrollRestoration = "manual";
  history.replaceState({ entry }, "");
  addEventListener("popstate", onPop);
  document.addEventListener("click", onClick);
  arrive(new URL(location.href));
}

/** Go to an address of ours; another site's, and one without a route, is a page load. */
export function navigate(to: string, { replace = false } = {}): void {
  const url = new URL(to, address.value);
  if (url.origin !== address.value.origin || !find(url)) {
    location.assign(url);
    return;
  }
  const samePage = url.pathname === address.value.pathname;
  if (replace) {
    history.replaceState({ entry }, "", url);
  } else {
    places.set(entry, globalThis.scrollY ?? 0);
    entry = Date.now() + places.size;
    history.pushState({ entry }, "", url);
  }
  arrive(url);
  if (!samePage) {
    globalThis.scrollTo?.(0, 0);
    opened.value++;
  }
}

/** The present address, or a path, with other parameters; an empty value removes one. */
export function withQuery(changes: Record<string, string>, path = address.value.pathname): string {
  const url = new URL(address.value);
  url.pathname = path;
  for (const [name, value] of Object.entries(changes)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  return url.pathname + url.search;
}

/** Restart the current page, because its content may differ after signing in or out. */
export function reenter(): void {
  arrive(address.peek());
}

/** The route of an address, with what its pattern took from the path. */
export function find(url: URL): { route: Route; match: string[] } | null {
  for (const each of routes) {
    const match = each.pattern.exec(url.pathname);
    if (match) return { route: each, match: match.slice(1).map(decodeURIComponent) };
  }
  return null;
}

function arrive(url: URL): void {
  const found = find(url);
  batch(() => {
    address.value = url;
    page.value = found?.route.page ?? null;
    found?.route.page.enter?.(found.match, url.searchParams);
  });
}

function onPop(event: PopStateEvent): void {
  places.set(entry, scrollY);
  entry = event.state?.entry ?? Date.now();
  arrive(new URL(location.href));
  const place = places.get(entry) ?? 0;
  requestAnimationFrame(() => requestAnimationFrame(() => scrollTo(0, place)));
}

function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest?.("a");
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  const url = new URL(link.href);
  if (!find(url) || (url.hash && url.pathname === location.pathname)) return;
  event.preventDefault();
  navigate(link.href, { replace: link.href === location.href });
}
