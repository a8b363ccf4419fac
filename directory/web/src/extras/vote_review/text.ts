// What the console says about the votes for a project.
import { count } from "../../text.ts";

const n = new Intl.NumberFormat("en");
type Judgement = "discount" | "count";

export const v = {
  votesOf: (title: string) => `Votes for ${title}`,
  votesFor: (title: string, number: number) => `${count(number, "vote")} for ${title}: who voted`,
  doubtful: "Doubtful recent votes",
  doubtfulVotes: "Votes with a sign",
  votesNone: { title: "No votes yet", why: "A vote appears here when a member votes for the project." },
  voter: "Voter",
  votedAt: "Voted",
  signs: "Signs",
  sign: { new_accounts: "New account", unverified: "Address not confirmed", single_owner: "Votes only for this owner" },
  votesAre: { counted: "Count", discounted: "Discounted", suspended: "Of suspended users" },
  voteCounts: "Counts",
  voteDiscounted: "Discounted",
  voteSuspended: "Voter suspended",
  votesInAll: "Votes in all",
  forOwner: "For this owner",
  projectGone: "No such project",
  projectGoneWhy: "There is no project with this number. It may have been deleted.",
  toProjects: "To the projects",
  toProject: "The project's page",
  judge: (decision: Judgement, number: number) => (decision === "discount" ? `Discount ${n.format(number)}` : `Count ${n.format(number)} again`),
  judgeAll: { discount: "Discount all", count: "Count all again" },
  judgeRule: (decision: Judgement, sign: string) => `${decision === "discount" ? "Discount all" : "Count all again"}: ${sign}`,
  judgeTitle: (decision: Judgement, number: number) => (decision === "discount" ? `Discount ${count(number, "vote")}` : `Count ${count(number, "vote")} again`),
  judgeWhy: {
    discount: "These votes no longer count for this project, also if their voters withdraw them and vote again. The votes stay, and their voters still see that they voted.",
    count: "These votes count for this project again, unless their voters are suspended.",
  },
  judgeDo: { discount: "Discount", count: "Count again" },
  judgeReason: "It is written to the log.",
  judged: (decision: Judgement, number: number) => `${count(number, "vote")} ${decision === "discount" ? "discounted" : "counted again"}.`,
  lastJudged: "Last decision about votes",
  undo: "Undo",
} as const;
