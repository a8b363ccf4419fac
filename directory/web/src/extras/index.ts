// The extras, but for those that the server says are off.
import { appeals } from "./appeals/index.ts";
import type { Extra } from "./extra.ts";
import { replies } from "./replies/index.ts";
import { reports } from "./reports/index.ts";
import { spamRules } from "./spam_rules/index.ts";
import { voteReview } from "./vote_review/index.ts";

const off = globalThis.document?.querySelector?.<HTMLMetaElement>('meta[name="extras-off"]')?.content.split(" ") ?? [];

// In the order of their entries in the navigation.
const all: readonly Extra[] = [
  appeals,
  reports,
  spamRules,
  replies,
  voteReview,
];

export const extras = all.filter(({ name }) => !off.includes(name));
// What one of them adds. Other modules read it in functions: those of the extras import them.
export const added: Pick<Extra, "saved" | "appeals"> = Object.assign({}, ...extras);
