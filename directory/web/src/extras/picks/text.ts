// What the console says about picks.
export const p = {
  key: "Pick the live project that is shown",
  pick: "Pick",
  pickOf: (title: string) => `Pick ${title}`,
  words: "Why it is picked",
  hint: "One line, which visitors read. Without it the pick ends.",
  picked: "Picked:",
} as const;
