// What the console says about claims.
export const c = {
  key: "Claim it, so that the others see who looks at it, or release it",
  filter: "Claimed",
  values: { none: "By nobody", me: "By me", others: "By others" },
  claim: "Claim",
  release: "Release",
  claimed: "looks at it",
  you: "You",
  looks: (name: string) => `${name} looks at this.`,
  takeOver: "Take over",
  takeOverOf: (name: string) => `Take over from ${name}?`,
  takeOverWhy: "The others then see your name. A claim keeps nobody from deciding.",
} as const;
