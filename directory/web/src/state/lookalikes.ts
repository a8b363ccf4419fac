// Letters of a title that look like Latin ones and are of another alphabet, as the warning `lookalike_title` has them.
const LATIN = /\p{Script=Latin}/u;
// Those that are written next to Latin words without a space deceive nobody.
const FOREIGN = "(?![0-9]|\\p{Script=Latin}|\\p{Script=Han}|\\p{Script=Hiragana}|\\p{Script=Katakana}|\\p{Script=Hangul})[\\p{L}\\p{Nd}]";
const [ANY, RUNS] = [new RegExp(FOREIGN, "u"), new RegExp(`((?:${FOREIGN})+)`, "u")];

/** The parts of a title, each with whether it is to be marked: in words of two alphabets, or if there is none in all. */
export function marked(title: string): [text: string, isMarked: boolean][] {
  const words = title.split(/([^\p{L}\p{M}\p{N}]+)/u);
  const isMixed = (word: string) => LATIN.test(word) && ANY.test(word);
  const wanted = words.some(isMixed) ? isMixed : () => true;
  return words.flatMap((word) => (wanted(word) ? word.split(RUNS).map((part, place): [string, boolean] => [part, place % 2 === 1]) : [[word, false]]));
}
