// What differs between two texts, by words.
export interface Part {
  kind: "same" | "gone" | "new";
  text: string;
}

const TOKEN = /\s+|[\p{L}\p{N}\p{M}_]+|[^\s\p{L}\p{N}\p{M}_]/gu;
const MOST_EDITS = 1000; // texts that differ in more words are shown one after the other

/** The parts of both texts in their order: what they share, what only `from` has, and what only `to` has. */
export function diff(from: string, to: string): Part[] {
  const [a, b] = [from.match(TOKEN) ?? [], to.match(TOKEN) ?? []];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [middleA, middleB] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const middle = shortest(middleA, middleB)
    ?? [{ kind: "gone" as const, text: middleA.join("") }, { kind: "new" as const, text: middleB.join("") }];
  const [before, after] = [a.slice(0, start).join(""), a.slice(a.length - end).join("")];
  return joined([{ kind: "same", text: before }, ...middle, { kind: "same", text: end ? after : "" }]);
}

/** The fewest words to take out and to put in (E. Myers, 1986); null where they are too many. */
function shortest(a: string[], b: string[]): Part[] | null {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const furthest = new Int32Array(2 * most + 3); // by diagonal, shifted: how much of `a` is read
  const rounds: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits++) {
    rounds.push(furthest.slice(most - edits, most + edits + 3));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = most + 1 + diagonal;
      const [left, right] = [furthest[at - 1] as number, furthest[at + 1] as number];
      let x = diagonal === -edits || (diagonal !== edits && left < right) ? right : left + 1;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++;
      furthest[at] = x;
      if (x >= a.length && x - diagonal >= b.length) return wayBack(a, b, rounds);
    }
  }
  return null;
}

/** The steps that led to the ends of both, from what was read before each round. */
function wayBack(a: string[], b: string[], rounds: Int32Array[]): Part[] {
  const parts: Part[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = rounds.length - 1; edits > 0; edits--) {
    const before = rounds[edits] as Int32Array;
    const at = x - y + edits + 1;
    const [left, right] = [before[at - 1] as number, before[at + 1] as number];
    const isNew = x - y === -edits || (x - y !== edits && left < right);
    const beforeX = isNew ? right : left;
    const beforeY = beforeX - (x - y + (isNew ? 1 : -1));
    while (x > beforeX && y > beforeY) {
      parts.push({ kind: "same", text: a[--x] as string });
      y--;
    }
    if (isNew) parts.push({ kind: "new", text: b[--y] as string });
    else parts.push({ kind: "gone", text: a[--x] as string });
  }
  while (x > 0) parts.push({ kind: "same", text: a[--x] as string });
  return parts.reverse();
}

/** Neighbours of a kind as one part. Changes with nothing but space between them are one change. */
function joined(parts: Part[]): Part[] {
  const found: Part[] = [];
  let [gone, added, space] = ["", "", ""];
  const end = () => {
    if (gone) found.push({ kind: "gone", text: gone });
    if (added) found.push({ kind: "new", text: added });
    if (space) same(found, space);
    [gone, added, space] = ["", "", ""];
  };
  for (const { kind, text } of parts) {
    if (kind === "same" && !text.trim() && (gone || added)) {
      space += text;
    } else if (kind === "same") {
      end();
      if (text) same(found, text);
    } else if (text) {
      [gone, added, space] = [gone + space, added + space, ""];
      if (kind === "gone") gone += text;
      else added += text;
    }
  }
  end();
  return found;
}

function same(parts: Part[], text: string): void {
  const last = parts.at(-1);
  if (last?.kind === "same") last.text += text;
  else parts.push({ kind: "same", text });
}

/** The parts with long stretches that did not change cut to what is next to a change. */
export function shortened(parts: Part[], near = 80): Part[] {
  return parts.map((part, place) => {
    const letters = [...part.text];
    if (part.kind !== "same" || letters.length <= 3 * near) return part;
    const head = place ? letters.slice(0, near).join("") : "";
    const tail = place < parts.length - 1 ? letters.slice(-near).join("") : "";
    return { kind: "same", text: `${head} … ${tail}` };
  });
}
