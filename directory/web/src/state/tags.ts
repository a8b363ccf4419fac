// Tags and addresses as people type them, and as the API takes them.

/** The tags of a line: separated by commas or spaces, each as a slug, and each once. */
export function tagsOf(line: string): string[] {
  return [...new Set(line.split(/[\s,;]+/).map(slugOf).filter(Boolean))];
}

/** "C++" is cpp, "C#" csharp, "Node.js" nodejs, ".NET" dotnet, "Café" cafe. Letters of other scripts stay, to be refused by name. */
function slugOf(typed: string): string {
  const plain = typed.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/^#/, "");
  const named = plain.replace(/^\.(?=\w)/, "dot").replaceAll(".", "").replaceAll("+", "p").replaceAll("#", "sharp").replaceAll("&", "-and-");
  return named.replace(/[_/-]+/g, "-").replace(/^-|-$/g, "");
}

/** An address with its scheme: "vim.org" is https://vim.org. Other text stays as it is. */
export function withScheme(typed: string): string {
  const text = typed.trim();
  return /^[^\s/:@?#]+\.[^\s/:@?#.]+\.?(:\d+)?([/?#]|$)/.test(text) ? `https://${text}` : text;
}

/** Whether a text is an address, with its scheme or without. */
export function isAddress(text: string): boolean {
  const full = withScheme(text);
  return /^https?:\/\/[^\s/]+/i.test(full) && URL.canParse(full);
}

/** Whether a text may be what Git clones: the service knows the hosts of which it is an address too. */
export function isGit(text: string): boolean {
  return /^(git|ssh|git\+\w+):\/\/|^([\w.-]+@)?[\w.-]+:(?!\/\/)/i.test(text);
}

/** Whether a website may change from one address to the other without review, by the rule of the service. */
export function isSame(one: string, other: string): boolean {
  return siteOf(one) === siteOf(other);
}

function siteOf(address: string): string {
  if (!URL.canParse(address)) return address;
  const [, path = "", query = "", fragment = ""] = /^[^/]*\/\/[^/?#]*([^?#]*)(\?[^#]*)?(#.*)?$/.exec(address) ?? [];
  const { host } = new URL(address);
  return host.replace(/^www\./, "") + path.replace(/\/$/, "") + query + (/^#[/!]/.test(fragment) ? fragment : "");
}
