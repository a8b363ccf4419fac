// What the modules share: finding elements, reading another page, and the line that says what happened.
const SECONDS = 8;
let timer: ReturnType<typeof setTimeout> | undefined;

/** The first element of a selector. */
export function find<T extends Element = HTMLElement>(selector: string, root: ParentNode = document): T | null {
  return root.querySelector<T>(selector);
}

/** Another page of the site, as a document. Throws where it cannot be read. */
export function readPage(url: string, signal?: AbortSignal): Promise<Document> {
  return new Promise((resolve, reject) => {
    // Not by fetch: the policy lets no script make a document of a text. A browser makes this one itself.
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.open("GET", url);
    request.onload = () => {
      if (request.status < 500 && request.response) resolve(request.response as Document);
      else reject(new Error(`status ${request.status}`));
    };
    request.onerror = () => reject(new Error("offline"));
    signal?.addEventListener("abort", () => request.abort());
    request.send();
  });
}

/** Say it in one line, which a screen reader reads out. */
export function say(text: string): void {
  const line = document.createElement("p");
  line.className = "bad";
  line.textContent = text;
  clearTimeout(timer);
  find(".notice")?.replaceChildren(line);
  timer = setTimeout(() => line.remove(), SECONDS * 1000);
}
