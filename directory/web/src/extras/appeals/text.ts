// What the console says about an open appeal.
export const a = {
  title: "Appeal",
  why: {
    rejected: "The owner asks for another look at the rejection. If you reverse it, the project waits for review again, at its old place.",
    pending: "The owner asks for another look at the unpublishing. If you reverse it, the project is live again at once.",
    live: "The owner asks for another look at the rejected changes. If you reverse it, they wait for review again, at their old place.",
  },
  settle: { reversed: "Reverse the decision", upheld: "Uphold the decision" },
  settleOf: {
    reversed: (title: string) => `Reverse the decision about ${title}`,
    upheld: (title: string) => `Uphold the decision about ${title}`,
  },
  reason: "Reason",
  reasonHint: "The owner reads it.",
  settled: {
    reversed: (title: string) => `The decision about ${title} is reversed.`,
    upheld: (title: string) => `The decision about ${title} is upheld.`,
  },
} as const;
