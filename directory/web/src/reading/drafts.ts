// What browsers keep of what is written: a draft for each account and form, and the logo that was chosen for a project.
const KEY = "draft";
const SENT = "sent"; // the key of the draft that this tab has sent last
export type Texts = Record<string, string>;

/** The key of a draft: of an account, and of a project, a new one, or a text about one. */
export function keyOf(user: string, project: string): string {
  return `${KEY} ${user} ${project}`;
}

/** The draft that is kept; null if there is none, or nothing can be kept. */
export function kept(key: string): Texts | null {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
    return found && typeof found === "object" ? (found as Texts) : null;
  } catch {
    return null;
  }
}

/** Keep a draft. Where nothing can be kept it lives as long as the page. */
export function keep(key: string, texts: Texts): void {
  try {
    localStorage.setItem(key, JSON.stringify(texts));
  } catch {
    // The page still has it.
  }
}

/** Forget a draft and its logo. */
export function drop(key: string): void {
  try {
    localStorage.removeItem(key);
    sessionStorage.removeItem(key);
  } catch {
    // There is nothing to remove.
  }
}

/** Forget every draft: the next person at this browser does not see them. */
export function dropAll(): void {
  try {
    for (const key of [...Object.keys(localStorage), ...Object.keys(sessionStorage)]) if (key.split(" ")[0] === KEY) drop(key);
  } catch {
    // There is nothing to remove.
  }
}

/** Note that a draft is being sent. */
export function noteSent(key: string): void {
  sessionStorage.setItem(SENT, key);
}

/** Forget the draft that was sent. The page that an accepted form leads to says so in its address; no refusal does. */
export function dropSent(): void {
  const sent = sessionStorage.getItem(SENT);
  sessionStorage.removeItem(SENT);
  if (sent && new URLSearchParams(location.search).has("done")) drop(sent);
}
