// What the console says about picks.
export const p = {
  pick: "Pick",
  pickOf: (title: string) => `Pick ${title}`,
  change: "Change the words",
  unpick: "Take the pick back",
  isPicked: "Picked",
  words: "Why it is picked",
  wordsHint: "One line, which visitors read.",
  picked: (title: string) => `${title} is picked.`,
} as const;
