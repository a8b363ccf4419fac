/** An address that a page may link to: http and https alone. What follows a space is no part of it. */
export function safeAddress(address: string): string | null {
  const [first = ""] = address.trim().split(/\s/);
  return /^https?:\/\//i.test(first) && URL.canParse(first) ? first : null;
}
