// The pages of the rules, in a file of their own.
export { rule } from "./rule.tsx";
export { rules } from "./rules.tsx";
