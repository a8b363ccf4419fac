// The letters and the colour of a name without a picture: always the same for it, as the service makes them.
const COLOURS = 10;

/** The first letters of the first two words; of the only word the first letter and the next consonant. */
export function letters(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const [first = name, second] = words;
  const [initial = "", ...others] = first;
  const rest = second ?? (others.join("").replace(/^[aeiou]+/i, "") || others.join(""));
  return (initial + ([...rest][0] ?? "")).toUpperCase();
}

/** Which of the colours, from the name alone. */
export function tint(name: string): number {
  let sum = 7;
  for (const each of name) sum = (sum * 31 + (each.codePointAt(0) ?? 0)) % 1_000_003;
  return sum % COLOURS;
}
