// Everything that the console says, but for its review queue.
import { labels } from "../api/events.ts";
import { count } from "../text.ts";

const n = new Intl.NumberFormat("en");
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0, signDisplay: "exceptZero" });
const utcDays = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });
const UNITS: [string, number][] = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];
type Bulk = "approve" | "reject" | "unpublish" | "delete";
const bulk: Record<Bulk, [string, string]> = {
  approve: ["Approve", "approved"], reject: ["Reject", "rejected"], unpublish: ["Take down", "taken down"], delete: ["Delete", "deleted"],
};

export const w = {
  /** "4.5 hours" */
  duration: (seconds: number) => {
    const [unit, length] = UNITS.find(([, each]) => seconds >= each) ?? ["second", 1];
    return new Intl.NumberFormat("en", { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 1 }).format(seconds / length);
  },
  /** A day of the series, "Nov 23, 2026". Days are of UTC. */
  day: (date: string) => utcDays.format(new Date(`${date}T00:00:00Z`)),

  consoleWhy: "The console is for reviewers and administrators.",
  notYours: (reviews: boolean) => (reviews ? "This page is for reviewers and administrators" : "This page is for administrators"),
  notYoursWhy: "An administrator can change the role of your account.",
  passkeyNeeded: "Sign in with a passkey", toPasskeys: "Add a passkey",
  passkeyNeededWhy: "Your role needs a passkey here. If you have none yet, add one in your account within ten minutes after signing in.",
  nav: "Console",
  pages: {
    "/admin": "Dashboard", "/admin/queue": "Review queue", "/admin/projects": "Projects", "/admin/users": "Users",
    "/admin/categories": "Categories", "/admin/deliveries": "Deliveries", "/admin/audit": "Log",
  },
  waitingHere: (number: number) => `${n.format(number)} waiting`,
  keys: "Keys",
  readOnly: "The service is read-only at present and takes no changes.",

  filters: "Filters",
  filter: {
    q: "Search", status: "State", category: "Category", owner: "Owner", counted: "Votes", sort: "Order", role: "Role", state: "State", endpoint: "Endpoint",
    event: "Event", project_id: "Project number", user_id: "User number", actor_id: "By user number", action: "Action", actor: "By user",
    user: "About user", since: "From", until: "To", kind: "Kind", held: "Held", answered: "Unanswered messages", waiting_for: "Waits for", first_time: "First submission", imports: "Imports", created_from: "Joined from", created_to: "Joined to", email_domain: "E-mail domain", email_verified: "Address confirmed", live: "Ever live",
  } as Record<string, string>,
  values: {
    live: "Live", pending: "Pending", rejected: "Rejected", active: "Active", suspended: "Suspended", member: "Member", reviewer: "Reviewer", admin: "Administrator",
    submission: "Submissions", revision: "Changes of live projects", delivered: "Delivered", dead: "Given up", newest: "Newest first", oldest: "Oldest first", popular: "Trending", upvotes: "Most votes",
    username: "Name", submissions: "Most submissions", last_seen: "Last seen", name: "Name", projects: "Most projects",
    true: "That count", false: "That do not count", ...labels,
  } as Record<string, string>,
  thenRejected: (until: string, isLive: boolean) => `${until.replace(/\.$/, "")}; then ${isLive ? "the changes are rejected, and the project stays live" : "it is rejected"}.`,
  until: (date: string) => `until ${date}`,
  waiting_for: { review: "Review", owner: "The owner", appeal: "An appeal" } as Record<string, string>,
  hidden: "Hidden", usual: "Default", yes: "Yes", no: "No",
  clear: "Clear",
  showAll: "Show all",
  nothing: "Nothing found",
  nothingWhy: "Nothing here matches these filters.",
  nothingYet: "Nothing found so far",
  nothingYetWhy: "The newest entries do not match. Go to the next page to search the older ones, or choose a period.",
  shown: (here: number, total: number | null, capped: boolean) =>
    total === null || total === here ? `${n.format(here)} shown` : `${n.format(here)} of ${capped ? "more than " : ""}${n.format(total)} shown`,
  export: "Export as CSV",
  exporting: (parts: number) => (parts ? `Exporting… (${count(parts, "part")})` : "Exporting…"),
  notExported: (detail: string) => `Nothing was exported. ${detail}`,
  exportShown: (rows: number) => `Export these ${count(rows, "row")} as CSV`,
  empty: "–",
  pagesOf: "Pages of the table",
  previous: "Previous page",
  next: "Next page",
  refresh: "Refresh",
  actions: "Actions",
  toDashboard: "To the dashboard",
  reason: "Reason",

  periods: "Period",
  period: (days: number) => count(days, "day"),
  needed: "What needs somebody",
  deadDeliveries: "Deliveries given up",
  waiting: "Waiting for review",
  oldest: "Oldest submitted",
  withOwners: "Waiting for owners",
  appeals: "Open appeals",
  appealsOf: (upheld: number, reversed: number) => `${n.format(upheld)} upheld, ${n.format(reversed)} reversed`,
  noneWaits: "None",
  liveProjects: "Live projects",
  members: "Members",
  decision: "Median time to decision",
  decisionNone: "No decision",
  approvalRate: "Approval rate",
  rate: (rate: number) => new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0 }).format(rate),
  flow: "Submissions and decisions a day",
  activity: "Votes and sign-ups a day",
  series: {
    submissions: "Submissions", imported: "Imported", approvals: "Approved", rejections: "Rejected", decisions: "Decisions", upvotes: "Votes", signups: "Sign-ups",
  },
  before: (before: number, now: number, days: number) => {
    const period = `${n.format(before)} in the ${count(days, "day")} before`;
    return before ? `${period} (${percent.format((now - before) / before)})` : period;
  },
  chart: (name: string, total: number, most: number, day: string) =>
    total ? `${name} a day: ${n.format(total)} in all, at most ${n.format(most)} on ${day}` : `${name} a day: none`,
  at: (day: string, values: [string, number][]) => `${day}: ${values.map(([name, value]) => `${n.format(value)} ${name.toLowerCase()}`).join(", ")}`,
  importedOn: (number: number, days: string[], cut: boolean) =>
    `${count(number, "project")} imported on ${days.length > 3 ? count(days.length, "day") : days.join(" and ")}${cut ? ". A bar with a break is cut off." : "."}`,
  asTable: "Show as a table",
  date: "Day (UTC)",
  topProjects: "Projects with the most votes",
  topCategories: "Categories with the most live projects",
  reviewers: "Reviewers",
  noReviewers: "No administrator decided anything in this period.",
  noTop: "There are no live projects yet.",
  reviewer: "Reviewer",
  median: "Median time",
  generated: "As of",

  title: "Title",
  state: "State",
  category: "Category",
  owner: "Owner",
  votes: "Votes",
  submitted: "Submitted",
  published: "Published",
  website: "Website",
  number: "Number",
  projectsNone: { title: "No projects yet", why: "A project appears here after a member has submitted it." },
  review: "Review",
  log: "Log",
  bulk: (decision: Bulk, number: number) => `${bulk[decision][0]} ${n.format(number)}`,
  bulkTitle: (decision: Bulk, number: number) => `${bulk[decision][0]} ${count(number, "project")}`,
  bulkDone: (decision: Bulk, number: number) => `${count(number, "project")} ${bulk[decision][1]}.`,
  bulkWhy: {
    approve: "Each becomes public in the version that this table shows; one that has changed since is left out. Its webhooks are sent at once.",
    reject: "Each leaves the queue. Its owner sees the reason, and can change it and send it again; this cannot be taken back here.",
    unpublish: "None is listed any longer. Each waits for its owner, who sees the reason, and comes back to the queue once it is edited. Votes stay.",
    delete: "Each is deleted with its votes. This cannot be undone. The reason is written to the log.",
  },
  bulkOutcome: {
    done: { approve: "Approved", reject: "Rejected", unpublish: "Taken down", delete: "Deleted" },
    changed: (state: string) => `Not done: it changed after the table was read, and is ${state} now`,
    other: "Not done: its state does not allow it",
  },
  takeDown: "Take down",
  takeDownOf: (title: string) => `Take down ${title}`,
  takeDownWhy: "The project is no longer listed. It waits for its owner, who sees the reason, and comes back to the queue once it is edited. Its votes stay.",
  takenDownOne: (title: string) => `${title} is taken down.`,

  username: "Username",
  email: "E-mail",
  role: "Role",
  status: "State",
  live: "Live",
  pending: "Pending",
  rejected: "Rejected",
  given: "Votes given",
  received: "Votes received",
  since: "Member since",
  seen: "Last seen",
  never: "Never",
  deletedOn: "Deleted on",
  usersNone: { title: "No users yet", why: "A user appears here after signing up." },
  userGone: "No such user",
  userGoneWhy: "There is no user with this number. The account may have been deleted.",
  toUsers: "To the users",
  submittedAt: "Last submission",
  theirProjects: "Projects",
  theirLog: "All entries",
  publicPage: "Public profile",
  latest: "Latest entries",
  noEntries: "The log has no entry about this user yet.",
  you: "This is your own account.",
  suspend: "Suspend…",
  suspendOf: (name: string) => `Suspend ${name}`,
  suspendWhy: (votes: number) => "The user is signed out everywhere, tokens stop working, and signing in is refused until the account is restored. "
    + `${votes ? `${count(votes, "vote")} of the user ${votes === 1 ? "does" : "do"} not count until then. ` : ""}`
    + "Projects that are taken down stay rejected then, until their owner sends each one again.",
  suspendDo: "Suspend",
  unpublish: (live: number, pending: number) => {
    const parts = [live && `take down ${count(live, "live project")}`, pending && `reject ${count(pending, "pending project")}`];
    return `Also ${parts.filter(Boolean).join(" and ")}`;
  },
  reasonHint: "It is written to the log, and the user sees it at each project that is taken down.",
  suspended: (name: string, down?: { unpublished: number; rejected: number; votes: number }) => {
    const parts = down && [`${count(down.unpublished, "live project")} taken down`, `${count(down.rejected, "project")} rejected in all`, down.votes && `${count(down.votes, "vote")} no longer counted`];
    return `${name} is suspended.${parts ? ` ${parts.filter(Boolean).join("; ")}.` : ""}`;
  },
  takeDownRest: "Take down the projects…",
  takeDownRestOf: (name: string) => `Take down the projects of ${name}`,
  restore: "Restore…",
  restoreOf: (name: string) => `Restore ${name}`,
  restoreWhy: "The user can sign in again, and their votes count again. Projects that were taken down stay rejected, until their owner sends each one again.",
  restoreDo: "Restore",
  restored: (name: string) => `${name} can sign in again.`,
  signOut: "Sign out everywhere…",
  signOutOf: (name: string) => `Sign ${name} out everywhere`,
  signOutWhy: "All sessions in browsers end. API tokens keep working.",
  signOutDo: "Sign out",
  signedOut: (name: string) => `${name} is signed out everywhere.`,

  name: "Name",
  slug: "Slug",
  slugHint: "It is part of addresses: a-z, 0-9 and hyphens.",
  description: "Description",
  categoriesNone: { title: "No categories yet", why: "Members choose a category for each project that they submit. Add one." },
  addCategory: "Add a category",
  add: "Add",
  added: (name: string) => `${name} is added.`,
  change: "Change",
  changeOf: (name: string) => `Change ${name}`,
  save: "Save",
  changed: (name: string) => `${name} is changed.`,
  delete: "Delete",
  deleteOf: (name: string) => `Delete ${name}`,
  deleteWhy: (live: number) =>
    live ? `${count(live, "live project")} ${live === 1 ? "is" : "are"} in this category. Only a category that no project uses can be deleted.`
      : "Only a category that no project uses can be deleted, whatever its state.",
  deleted: (name: string) => `${name} is deleted.`,

  endpoints: "Endpoints",
  endpointsNone: "No endpoint is configured. The setting WEBHOOK_ENDPOINTS names the addresses that are notified.",
  test: "Send a test",
  testOf: (name: string) => `Send a test to ${name}`,
  tested: (id: number) => `The test is on its way as delivery ${id}.`,
  deliveriesNone: { title: "No deliveries yet", why: "A delivery appears here when something happens that an endpoint is notified of." },
  event: "Event",
  endpoint: "Endpoint",
  project: "Project",
  attempts: "Attempts",
  created: "Created",
  nextAttempt: "Next attempt",
  deliveredAt: "Delivered",
  webhookId: "Message id",
  lastAnswer: "Last answer",
  answered: (status: number) => `HTTP ${status}`,
  details: "Details",
  detailsOf: (id: number) => `Details of delivery ${id}`,
  redeliver: "Send again",
  redeliverOf: (id: number) => `Send again: delivery ${id}`,
  redelivered: (id: number) => `Delivery ${id} is sent again.`,
  payload: "Payload",
  noAttempts: "No attempt was made yet.",
  milliseconds: (number: number) => `${n.format(number)} ms`,

  logNone: { title: "The log is empty", why: "Every submission, edit and decision is written to it." },
  when: "When",
  what: "What",
} as const;
