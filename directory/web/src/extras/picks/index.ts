// Picks in the console: a live project is picked, with words that say why.
import type { Extra } from "../extra.ts";
import { askAboutShown, Pick } from "./pick.tsx";
import { p } from "./text.ts";

export const picks: Extra = { name: "picks", keys: { p: { does: p.key, act: askAboutShown } }, picks: { Pick } };
