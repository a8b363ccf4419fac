// Appeals in the console: the buttons that settle one.
import type { Extra } from "../extra.ts";
import { Appeal } from "./appeal.tsx";

export const appeals: Extra = { name: "appeals", Appeal };
