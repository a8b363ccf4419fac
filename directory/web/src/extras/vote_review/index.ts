// The review of votes in the console: the page of who voted for a project, and the doubtful ones on the dashboard.
import { w } from "../../console/text.ts";
import type { Extra } from "../extra.ts";
import { doubtful } from "./doubtful.tsx";
import { v } from "./text.ts";

export const voteReview: Extra = {
  name: "vote_review",
  pages: [{ pattern: /^\/admin\/projects\/(\d{1,19})$/, title: w.pages["/admin/projects"], load: async () => (await import("./project-votes.tsx")).projectVotes }],
  ranking: doubtful,
  votes: ({ id, title, upvotes }) => ({ href: `/admin/projects/${id}`, label: v.votesFor(title, upvotes) }),
};
