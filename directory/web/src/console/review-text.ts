// Everything that the review queue says.
import type { Schemas } from "../api/client.ts";
import { did } from "../api/events.ts";
import { added } from "../extras/extra.ts";
import { count, ended, t } from "../text.ts";

type Decision = "approve" | "reject" | "request_changes";

// A touch screen has no such keys.
const byKeys = globalThis.matchMedia?.("(pointer: coarse)").matches ? "" : " Ctrl+Enter sends.";

const done: Record<Decision, string> = { approve: "Approved", reject: "Rejected", request_changes: "Asked for changes of" };

const warnings: Record<string, { sign: string; text: string }> = {
  lookalike_title: { sign: "Look-alike letters", text: "The title has letters that look like those of another alphabet" },
  link_gone: { sign: "Link gone", text: "The website or the repository is gone" },
  link_unreachable: { sign: "Link unreachable", text: "The website or the repository does not answer" },
  repository_archived: { sign: "Archived", text: "The repository is archived" },
  owner_suspended: { sign: "Owner suspended", text: "The owner is suspended" },
  same_repository: { sign: "Same repository", text: "Another project has the same repository" },
};

const capital = (text: string): string => (text[0]?.toUpperCase() ?? "") + text.slice(1);

export const r = {
  queue: "Review queue",
  list: "Submissions and changes that wait for review",
  empty: "Nothing waits for review",
  emptyWhy: "The queue is read again every few seconds. The oldest submission is always first.",
  refresh: "Refresh",
  toQueue: "Back to the queue",
  gone: "This submission is not in the queue",
  goneWhy: "It may have been deleted.",
  choose: "Choose a submission from the list.",
  select: (title: string) => `Select ${title}`,
  selectAll: "Select all",
  selection: "Selection",
  selectAllOf: (number: number, of: number) => `Select ${number < of ? `${t.number(number)} of ${t.number(of)}` : `all ${t.number(number)}`}`,
  selected: (number: number) => `${t.number(number)} selected`,
  selectedOf: (number: number, of: number) => `${t.number(number)} of ${t.number(of)} selected`,
  clear: "Clear",
  changedBadge: "Changed",
  changesBadge: "Live: changes",
  held: "Changes to this live project",
  heldWhy: "Visitors see the project as it is below until the changes are approved. If they are rejected, it stays so. Submitted",
  /** For each warning of a queue's item a few words, and a sentence without its end. */
  warnings,
  warningsOf: "Warnings",
  rules: (number: number) => count(number, "rule"),
  compare: "Compare:",
  matched: "Matched by the rules",
  lanes: { review: "To review", held: "Held", owner: "With the owner", appeal: "Appeals", messages: "Messages" },
  lanesOf: "Parts of the queue",
  heldBadge: "Held",
  heldBy: "A rule holds this out of the queue, for 14 days at most. A decision ends that, too.",
  rejectedBy: "A rule rejected this.",
  release: "Put it into the queue",
  released: (title: string) => `${title} is in the queue.`,
  noneIn: {
    held: { title: "Nothing is held", why: "Submissions appear here while a rule that holds matches them. Administrators write rules." },
    owner: { title: "Nothing waits for an owner", why: "What was taken down, or of which changes were asked for, waits here for its owner." },
    appeal: { title: "No open appeals", why: "An appeal appears here when an owner asks for another look at a decision." },
    messages: { title: "No unanswered messages", why: "A project appears here, whatever its state, when its owner was the last to write." },
  },
  own: "Yours",
  wasLive: "Was live",
  wasLiveWhy: "This project was live before. It was taken down, or its owner changed it.",
  approveAgain: (number: number, title: string) => (number > 1 ? `Approve ${count(number, "submission")}?` : `Approve ${title}?`),
  approveAgainWhy: (titles: string[]) =>
    titles.length > 1 ? `${count(titles.length, "project")} among them were live before: they were taken down, or their owners changed them. They become public again.`
      : `${titles[0]} was live before: it was taken down, or its owner changed it. It becomes public again.`,
  again: (number: number) => `${count(number, "other submission")} of this URL`,

  approve: "Approve",
  reject: "Reject",
  approveMany: (number: number) => `Approve ${t.number(number)}`,
  rejectMany: (number: number) => `Reject ${t.number(number)}`,
  askMany: (number: number) => `Ask ${t.number(number)}`,
  open: "Open the website",
  category: "Category",
  tags: "Tags",
  noTags: "None",
  owner: "Submitted by",
  submitted: "Submitted",
  record: ({ live, pending, rejected }: { live: number; pending: number; rejected: number }) =>
    `${t.number(live)} live, ${t.number(pending)} in review, ${t.number(rejected)} rejected`,
  description: "Description",
  decidedAlready: (state: string) => `This project is not in the queue. Its state: ${state}.`,

  first: "Not reviewed before.",
  since: "Changed since the last review",
  unchanged: "Nothing changed since the last review.",
  gonePart: "removed",
  newPart: "added",
  emptyValue: "empty",
  before: "Before",
  after: "After",
  /** The fields of a project in the order of a comparison; one without a label does not compile. */
  fields: {
    title: "Title", tagline: "Tagline", author: "Author", url: "Website", repository_url: "Source code", logo_url: "Address of the logo",
    logo: "Logo", pictures: "Pictures", category: "Category", tags: "Tags", description: "Description", fields: "Own fields",
  } satisfies Record<keyof Schemas["RevisionChanges"], string> as Record<string, string>,
  /** What a field of the log is called; what the API alone names is made a word of. */
  field: (name: string): string => r.fields[name] ?? added.own?.labelOf(name) ?? capital(name.replace(/^fields\./, "").replaceAll("_", " ")),
  everyCategory: "All categories",
  changedFields: (names: string[]) => `Changed: ${names.join(", ").toLowerCase()}`,
  others: "Other submissions of this URL",
  isListed: "This website is listed already:",
  history: "History",
  showHistory: "Show the history",
  hideHistory: "Hide the history",
  isNow: "It changed after you looked. This is what it is now.",
  laterEdit: (name: string, when: string) => `${name} changed this submission ${when}. You see the version before.`,
  laterDecision: (name: string, action: string, when: string) => `${name} ${did[action] ?? action} ${when}.`,
  showNew: "Show the new version",

  /** What the dialog says that asks for the text of a decision. */
  ask: {
    reject: {
      title: (number: number, title: string) => `Reject ${number > 1 ? count(number, "submission") : title}`,
      label: "Reason",
      hint: `The owner reads it. Leave it empty to give none.${byKeys}`,
      none: (number: number) =>
        `${number > 1 ? "The owners get" : "The owner gets"} no reason. Choose or write one, or press the button again to reject without it.`,
      action: (number: number) => (number > 1 ? r.rejectMany(number) : r.reject),
    },
    request_changes: {
      title: (number: number, title: string) => `Ask for changes of ${number > 1 ? count(number, "submission") : title}`,
      label: "What has to be changed",
      hint: `The owner reads it.${byKeys}`,
      none: () => "Choose or write a text.",
      action: (number: number) => (number > 1 ? `Ask for changes of ${t.number(number)}` : "Ask for changes"),
    },
  },

  undo: "Undo",
  decided: (decision: Decision, title: string, others: number) =>
    others ? `${done[decision]} ${count(others + 1, "submission")}.` : ended(`${done[decision]} ${title}`),
  left: (number: number) => (number ? `${t.number(number)} left.` : "Nothing is left."),
  undone: (title: string, others: number) =>
    others ? `${count(others + 1, "submission")} returned to the queue.` : `${title} returned to the queue.`,
  nothingToUndo: "There is no decision that can still be undone.",
  readOnly: "The directory is read-only at present. Nothing can be decided.",
  notDecided: (number: number) => `${count(number, "submission")} not decided.`,

  lastDecision: "Last decision",
  outcomes: "Decisions",
  outcome: {
    done: (decision: Decision) => (decision === "request_changes" ? "Asked for changes" : done[decision]),
    first: (name: string, action: string, when: string) => `${name} ${did[action] ?? "decided it"} first, ${when}`,
    firstUnknown: "Another reviewer decided it first",
    changed: "Not decided: it changed after you looked. Look again",
    gone: "Not decided: it was deleted",
    duplicate: "Not approved: the owner has another project with this website",
    failed: (why: string) => `Not decided: ${why}`,
  },
  busy: "Sending…",

  helpTitle: "Keys of the console",
  help: [
    [["j", "k"], "Next and previous submission"],
    [["x"], "Select or unselect"],
    [["Shift", "x"], "Select all from the last selected one to this one"],
    [["a"], "Approve what is selected, or the submission that is shown"],
    [["r"], "Reject it: a digit takes a saved reply, Enter sends; in a reason of your own Ctrl+Enter does"],
    [["m"], "Write to the owner; Ctrl+Enter sends"],
    [["e"], "Ask for changes of it, as r rejects it"],
    [["u"], "Undo the last decision, within 5 seconds"],
    [["o"], "Open the website in a new tab"],
    [["h"], "Show or hide the history"],
    [["Esc"], "Clear the selection"],
    [["g", "q"], "Go to the queue"],
    [["g", "d"], "Go to the dashboard"],
    [["g", "u"], "Go to the users"],
    [["?"], "Show these keys"],
  ] as [string[], string][],
} as const;
