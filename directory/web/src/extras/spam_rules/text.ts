// What the console says about rules.
import { count, t } from "../../text.ts";

const n = new Intl.NumberFormat("en");
const facts: Record<string, string> = {
  account_hours: "Age of the account in hours", email_confirmed: "E-mail address is confirmed", email_domain: "Domain of the e-mail address",
  email_disposable: "E-mail domain is disposable", approved: "Approved projects of the owner", rejected: "Rejected projects of the owner",
  submitted_24h: "Submissions by the owner in 24 hours", domain: "Domain of the website", domain_live: "Live projects of the domain",
  domain_rejected: "Rejected projects of the domain", domain_waiting: "Pending projects of the domain", links: "Links in the description",
  words: "Words", text_of_rejected: "Description equals that of a rejected project", title_lookalike: "Title has letters of another alphabet",
  has_repository: "Has a repository", burst: "Submissions of the last hour over the usual hour",
  link_state: "What the website answers (seen later)", repository_archived: "Repository is archived (seen later)",
  repository_days: "Days since the repository was created (seen later)", repository_pushed_days: "Days since its last change (seen later)",
  repository_stars: "Stars of the repository (seen later)", repository_license: "Licence of the repository (seen later)",
};
const compared: Record<string, string> = { "=": "is", "<": "is less than", ">=": "is at least", in: "is one of", "not in": "is none of" };

export const u = {
  title: "Rules",
  none: { title: "No rules", why: "A rule judges what members submit, edit and register." },
  add: "New rule",
  back: "To the rules",
  gone: "No such rule",
  goneWhy: "There is no rule with this number. It may have been deleted.",
  name: "Name",
  state: "State",
  states: { off: "Off", dry: "Only counts", on: "On" },
  then: "Then",
  effects: { mark: "Mark", hold: "Hold", reject: "Reject" },
  on: "Judges",
  kinds: { submission: "Submissions", edit: "Edits", registration: "Registrations" },
  when: "When all of these hold",
  conditions: "Conditions",
  month: "In 30 days",
  days: (number: number) => count(number, "match", "matches"),
  fact: (fact: string) => facts[fact] ?? fact,
  is: (is: string) => compared[is] ?? is,
  /** "Links in the description is at least 3" */
  condition: (fact: string, is: string, value: unknown) => `${u.fact(fact)} ${u.is(is)} ${shown(value)}`,
  factOf: (place: number) => `Fact ${place}`,
  isOf: (place: number) => `Comparison ${place}`,
  valueOf: (place: number) => `Value ${place}`,
  valuesHint: "Separate them by commas or lines.",
  remove: "Remove",
  removeOf: (place: number) => `Remove condition ${place}`,
  addCondition: "Add a condition",
  reason: "Reason",
  reasonHint: "The submitter reads it.",
  stateHint: "A rule that only counts does nothing else. One that rejects can be on after a preview of its conditions within a day.",
  save: "Save",
  saved: (name: string) => `The rule ${name} is saved.`,
  change: "Change",
  delete: "Delete",
  deleteOf: (name: string) => `Delete the rule ${name}?`,
  deleteWhy: "What it marked, held and rejected stays so, and can then not be undone together.",
  deleted: (name: string) => `The rule ${name} is deleted.`,
  revert: "Undo…",
  revertOf: (name: string) => `Undo what ${name} did?`,
  revertWhy: "What the rule held or rejected since that day goes back into the queue, at its old place, and the owners get a mail. What was edited, decided or appealed since stays as it is.",
  since: "Since (a day, such as 2026-11-20)",
  revertDo: "Put it back into the queue",
  reverted: (number: number) => `${count(number, "submission")} put back into the queue.`,
  preview: "Preview",
  period: "Over the last",
  run: "Show what it would have done",
  outcomes: { approved: "Approved", rejected: "Rejected", waiting: "Waiting", taken_down: "Live once, not now" },
  outcome: "What became of it",
  matched: "Matched",
  examples: "Examples",
  found: (matched: number, evaluated: number, unknown: number) =>
    `It would have matched ${n.format(matched)} of ${n.format(evaluated)}.${unknown ? ` ${n.format(unknown)} more came before facts were stored, and are not judged.` : ""}`,
  showExamples: (number: number) => count(number, "example"),
} as const;

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length > 5 ? `${value.slice(0, 5).join(", ")} and ${t.number(value.length - 5)} more` : value.join(", ");
  return typeof value === "boolean" ? (value ? "true" : "false") : typeof value === "number" ? n.format(value) : String(value);
}
