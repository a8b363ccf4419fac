// A page is shared by what the system offers for it, or else its address is copied. Without this its link has the address.
import { find, say } from "./page.ts";
import { word } from "./words.ts";

export function startShare(): void {
  const link = find<HTMLAnchorElement>("[data-share]");
  const canShare = "share" in navigator;
  if (!link || !(canShare || navigator.clipboard)) return;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    void share(link.href, canShare).catch(() => undefined); // it may be cancelled
  });
}

async function share(url: string, canShare: boolean): Promise<void> {
  if (canShare) return navigator.share({ title: document.title, url });
  await navigator.clipboard.writeText(url);
  say(word("The address of this page is copied."), "done");
}
