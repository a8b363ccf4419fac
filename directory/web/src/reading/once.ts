// A form that is pressed twice is sent once.
export function startOnce(): void {
  document.addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    if (form.method !== "post" || event.defaultPrevented) return;
    if (form.ariaBusy) return event.preventDefault();
    form.ariaBusy = "true";
  });
  // The browser shows a page again as it was left.
  addEventListener("pageshow", () => {
    for (const form of document.forms) form.ariaBusy = null;
  });
}
