/** The address of a project's page. */
export function pathOf(project: { id: number; slug: string }): string {
  return `/p/${project.id}/${project.slug}`;
}

/** An address that a page may link to: http and https only. Text after a space is not part of it. */
export function safeAddress(address: string): string | null {
  const [first = ""] = address.trim().split(/\s/);
  return /^https?:\/\//i.test(first) && URL.canParse(first) ? first : null;
}

/** The host of an address in ASCII, where it is typed in other letters, which may look like Latin ones; else null. */
export function asciiHost(address: string): string | null {
  const typed = /^https?:\/\/([^/?#]*)/i.exec(address)?.[1] ?? "";
  const host = URL.canParse(address) ? new URL(address).hostname : "";
  return /[^\x00-\x7f]/.test(typed) && host.includes("xn--") ? host : null;
}
