// The extras, but for those that the server says are off.
import type { Extra } from "./extra.ts";
import { reports } from "./reports/index.ts";
import { spamRules } from "./spam_rules/index.ts";
import { voteReview } from "./vote_review/index.ts";

const off = globalThis.document?.querySelector?.<HTMLMetaElement>('meta[name="extras-off"]')?.content.split(" ") ?? [];

const all: readonly Extra[] = [
  reports,
  spamRules,
  voteReview,
];

export const extras = all.filter(({ name }) => !off.includes(name));
