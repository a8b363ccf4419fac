// The extras, but for those that the server says are off.
import type { Extra } from "./extra.ts";
import { voteReview } from "./vote_review/index.ts";

const off = globalThis.document?.querySelector?.<HTMLMetaElement>('meta[name="extras-off"]')?.content.split(" ") ?? [];

export const extras: readonly Extra[] = [voteReview].filter(({ name }) => !off.includes(name));
