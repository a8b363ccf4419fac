// The submission that is being written: it survives a closed tab, and holds nothing of an account.
export interface Draft {
  url: string;
  title: string;
  tagline: string;
  description: string;
  category: string;
  tags: string;
  repository_url: string;
}

const KEY = "draft";
export const EMPTY: Draft = { url: "", title: "", tagline: "", description: "", category: "", tags: "", repository_url: "" };

/** The draft that was stored; an empty one where there is none, or nothing may be stored. */
export function stored(): Draft {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Record<string, unknown>;
    const texts = Object.keys(EMPTY).map((name) => [name, typeof found[name] === "string" ? found[name] : ""]);
    return Object.fromEntries(texts) as Draft;
  } catch {
    return { ...EMPTY };
  }
}

/** Store the draft; one without any text is none. */
export function store(draft: Draft): void {
  if (Object.values(draft).every((text) => !text.trim())) return drop();
  try {
    localStorage.setItem(KEY, JSON.stringify(draft));
  } catch {
    // Where nothing may be stored the draft lives as long as the page.
  }
}

export function drop(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // There is nothing to remove.
  }
}
