// Appeals in the console: the buttons that settle one.
import { summary } from "../../state/queue-pending.ts";
import type { Extra } from "../extra.ts";
import { Appeal } from "./appeal.tsx";

export const appeals: Extra = { name: "appeals", appeals: { areOn: () => Boolean(summary.data.value?.appeals), Settle: Appeal } };
