// What the console says about reports.
export const r = {
  reports: "Reports",
  reportedBy: "Reported by",
  reportsNone: { title: "No open reports", why: "A report appears here when a visitor says that something is wrong with a project." },
  openOnes: "Open",
  settledOnes: "Settled",
  kinds: {
    broken_link: "Broken link", spam: "Spam", harmful: "Harmful", wrong_facts: "Wrong facts", mine: "Reporter's own project", other: "Other",
  } as Record<string, string>,
  firstAt: "First reported",
  outcome: "Outcome",
  outcomes: { acted: "Acted on", unfounded: "Unfounded" },
  settle: { acted: "Settle as acted on", unfounded: "Settle as unfounded" },
  settleOf: (title: string) => `Settle the reports about ${title}`,
  settleWhy: { acted: "The reporters read that something was done.", unfounded: "The reporters read that nothing was wrong." },
  reply: "Reply",
  replyHint: "Reporters with an account read it. They never see who settled it.",
  settled: (title: string) => `The reports about ${title} are settled.`,
  takeDownWhy: "The project is no longer listed, and its reports are settled as acted on. It waits for its owner, who sees the reason.",
} as const;
