// The extras, but for those that the server says are off.
import { filters } from "../state/queue-address.ts";
import { appeals } from "./appeals/index.ts";
import { claims } from "./claims/index.ts";
import { added, type Extra } from "./extra.ts";
import { fields } from "./fields/index.ts";
import { links } from "./links/index.ts";
import { picks } from "./picks/index.ts";
import { replies } from "./replies/index.ts";
import { reports } from "./reports/index.ts";
import { spamRules } from "./spam_rules/index.ts";
import { voteReview } from "./vote_review/index.ts";

const off = globalThis.document?.querySelector?.<HTMLMetaElement>('meta[name="extras-off"]')?.content.split(" ") ?? [];

// In the order of their entries in the navigation.
const all: readonly Extra[] = [
  appeals,
  claims,
  reports,
  spamRules,
  fields,
  replies,
  voteReview,
  picks,
  links,
];

export const extras = all.filter(({ name }) => !off.includes(name));
Object.assign(added, ...extras, { keys: Object.assign({}, ...extras.map(({ keys }) => keys)) });
filters.filters = [...filters.filters, ...extras.flatMap(({ filter }) => filter ?? [])];
