// The submission that is being written: it survives a closed tab, and holds nothing of an account.
import type { Schemas } from "../api/client.ts";

/** The fields of the form: those that the API takes, but for the address of a logo. */
export type Name = Exclude<keyof Schemas["ProjectInput"], "logo_url">;
export type Draft = Record<Name, string>;
export const EMPTY: Draft = { url: "", title: "", tagline: "", description: "", category: "", tags: "", repository_url: "" };

const KEY = "draft"; // of a new submission; that of a change goes on with the number of its project

/** The key of a draft: of the change of a project, or of a new submission. */
function keyOf(id: number | null): string {
  return id === null ? KEY : `${KEY} ${id}`;
}

/** Whether there is a draft of the change of a project, and which version of it was changed. */
export function storedBase(id: number): string | null {
  try {
    return (JSON.parse(localStorage.getItem(keyOf(id)) ?? "{}") as { base?: string }).base ?? null;
  } catch {
    return null;
  }
}

/** The draft that was stored; an empty one where there is none, or nothing may be stored. */
export function stored(id: number | null = null): Draft {
  try {
    const found = JSON.parse(localStorage.getItem(keyOf(id)) ?? "{}") as Record<string, unknown>;
    const texts = Object.keys(EMPTY).map((name) => [name, typeof found[name] === "string" ? found[name] : ""]);
    return Object.fromEntries(texts) as Draft;
  } catch {
    return { ...EMPTY };
  }
}

/** Store the draft; one without any text is none. */
export function store(draft: Draft, id: number | null = null, base?: string): void {
  if (Object.values(draft).every((text) => !text.trim())) return drop(id);
  try {
    localStorage.setItem(keyOf(id), JSON.stringify({ ...draft, base }));
  } catch {
    // Where nothing may be stored the draft lives as long as the page.
  }
}

export function drop(id: number | null = null): void {
  try {
    localStorage.removeItem(keyOf(id));
  } catch {
    // There is nothing to remove.
  }
}

/** Drop every draft: the next user of the browser does not see them. */
export function dropAll(): void {
  try {
    for (const key of Object.keys(localStorage)) if (key === KEY || key.startsWith(`${KEY} `)) localStorage.removeItem(key);
  } catch {
    // There is nothing to remove.
  }
}
