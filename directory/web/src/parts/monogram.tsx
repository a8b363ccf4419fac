// A project's logo, or its letters on a colour that is always the same for it; logos of other hosts are never loaded.
import type { Schemas } from "../api/client.ts";

export type Logo = Schemas["ProjectDetail"]["logo"];
const COLOURS = 10;

export function Monogram({ name, logo, large = false }: { name: string; logo?: Logo; large?: boolean }) {
  const side = large ? 64 : 48;
  if (logo) return <img class={`monogram${large ? " large" : ""}`} src={logo[large ? "256" : "64"]} width={side} height={side} alt="" />;
  return (
    <span class={`monogram tint-${tint(name)}${large ? " large" : ""}`} aria-hidden="true">{letters(name)}</span>
  );
}

/** The first letters of the first two words, or the first two letters of the only one. */
export function letters(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const [first = name, second] = words;
  const chosen = second ? [...first].slice(0, 1).concat([...second].slice(0, 1)) : [...first].slice(0, 2);
  return chosen.join("").toUpperCase();
}

/** Which of the colours, from the name alone. */
export function tint(name: string): number {
  let sum = 7;
  for (const each of name) sum = (sum * 31 + (each.codePointAt(0) ?? 0)) % 1_000_003;
  return sum % COLOURS;
}
