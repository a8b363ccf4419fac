// What the modules share: finding elements, reading another page, and the line that says what happened.
import { word } from "./words.ts";

export const UNREACHABLE = "You are offline, or the service does not answer.";
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
      const page = request.response as Document | null;
      if (request.status < 400 && page) resolve(page);
      else reject(new Error((page && find(".state p", page)?.textContent) || refusal(request.status)));
    };
    request.onerror = () => reject(new Error(UNREACHABLE));
    signal?.addEventListener("abort", () => request.abort());
    request.send();
  });
}

/** The data of an answer. Throws with the reason where it is refused, of a field or of all, or by something before the service. */
export async function dataOf(answer: Response): Promise<any> {
  const data = await answer.json().catch(() => null);
  if (!answer.ok || !data) throw new Error(data?.errors?.[0]?.detail ?? data?.detail ?? refusal(answer.status), { cause: data?.code });
  return data;
}

function refusal(status: number): string {
  return word("The service answered with status {status}.", { status: String(status) });
}

/** The header by which the API answers in the language of the page. */
export function speaking(): { "Accept-Language": string } {
  return { "Accept-Language": document.documentElement.lang };
}

/** Why something did not work, in words. */
export function reason(error: unknown): string {
  return error instanceof Error ? word(error.message) : "";
}

/** Have a screen reader read out what an element shows. */
export function tell(shown: Element | null): void {
  if (shown) say(shown.textContent ?? "", "unseen");
}

/** Say it in one line, which a screen reader reads out. */
export function say(text: string, kind = "bad"): void {
  const line = document.createElement("p");
  line.className = kind;
  line.textContent = text;
  clearTimeout(timer);
  find(".notice")?.replaceChildren(line);
  timer = setTimeout(() => line.remove(), SECONDS * 1000);
}
