// Everything that the public pages say, in one place. Names, dates and numbers come in as arguments.
const n = new Intl.NumberFormat("en");
const plural = new Intl.PluralRules("en");

/** A number with its noun: "1 project", "2 projects". */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${n.format(number)} ${plural.select(number) === "one" ? one : many}`;
}

export const t = {
  number: (value: number) => n.format(value),
  loading: "Loading…",
  tryAgain: "Try again",
  requestId: (id: string) => `Request ${id}`,
  unreachable: "The directory cannot be reached",
  unreachableDetail: "You are offline, or the service does not answer.",
  refused: "Something went wrong",
  refusedDetail: (status: number) => `The service answered with status ${status}.`,
  outdated: "What you see may be out of date.",
  cancel: "Cancel",
  close: "Close",

  skip: "Skip to content",
  account: "Account",
  yours: "Your projects",
  profile: "Public profile",
  submit: "Submit a project",
  submitShort: "Submit",
  console: "Console",
  signIn: "Sign in",
  signOut: "Sign out",
  signedOut: "You are signed out.",
  theme: { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" },
  readOnly: "The directory is read-only at present: you can browse and search, but not vote, submit or sign in.",
  footerApi: "API",
  footerFeed: "Feed",
  version: (version: string, commit: string | null) => `Version ${version}${commit ? ` (${commit})` : ""}`,

  intro: "Projects that members submit and reviewers approve.",
  search: "Search projects",
  searchHint: "Press / to search",
  categories: "Categories",
  all: "All",
  sorts: { "": "Best match", newest: "New", popular: "Trending", upvotes: "Top" } as Record<string, string>,
  sortedBy: "Order",
  found: (total: number, capped: boolean) => (capped ? `More than ${n.format(total)} projects` : count(total, "project")),
  matching: (query: string) => `for “${query}”`,
  tagged: (tag: string) => `tagged ${tag}`,
  inCategory: (name: string) => `in ${name}`,
  removeFilter: (name: string) => `Remove the filter ${name}`,
  more: "Show more",
  emptyDirectory: "No projects yet",
  emptyDirectoryWhy: "Be the first to submit one.",
  nothingFound: "Nothing found",
  nothingFoundWhy: "No project matches all of this. Fewer words or another category may help.",
  showAll: "Show all projects",

  upvote: (title: string, votes: number) => `Upvote ${title}, ${count(votes, "vote")}`,
  signInToVote: (title: string) => `Sign in to vote for ${title}.`,
  voteRefused: (title: string, why: string) => `Your vote for ${title} was not counted. ${why}`,

  notFound: "Page not found",
  notFoundWhy: "There is nothing at this address. It may have been removed, or it is not public.",
  toDirectory: "To the directory",
  projectGone: "Project not found",
  projectGoneWhy: "It may have been removed, or it is waiting for review and only its owner can see it.",
  visit: "Visit the website",
  source: "Source code",
  details: "Details",
  category: "Category",
  tags: "Tags",
  submittedBy: "Submitted by",
  published: "Listed",
  submitted: "Submitted",
  moreIn: (category: string) => `More in ${category}`,
  noDescription: "There is no description yet.",
  edit: "Edit",
  editAgain: "Edit and send again",
  remove: "Delete",
  removeSure: (title: string) => `Delete ${title}? Its votes are deleted too. This cannot be undone.`,
  removed: (title: string) => `${title} is deleted.`,
  states: { live: "Live", pending: "In review", rejected: "Rejected" },
  pendingTitle: "This project is waiting for review",
  pendingWhy: (place: number | null) =>
    place ? `It is number ${n.format(place)} in the queue. Until it is approved only you and the reviewers see it.`
      : "Until it is approved only its owner and the reviewers see it.",
  rejectedTitle: "This project was rejected",
  rejectedWhy: "The reviewers gave no reason. You can change it and send it again.",
  reason: "Reason",

  history: "History",
  events: {
    submitted: "Submitted", edited: "Edited", approved: "Approved", rejected: "Rejected", unpublished: "Taken down",
  } as Record<string, string>,


  memberSince: (date: string) => `Member since ${date}`,
  memberLive: (projects: number) => count(projects, "live project"),
  memberVotes: (votes: number) => `${count(votes, "upvote")} received`,
  memberGone: "No such member",
  memberGoneWhy: "The name may be misspelt, or the account was closed.",
  memberEmpty: "No live projects yet",
  memberEmptyWhy: (name: string) => `${name} has submitted nothing that is listed.`,
} as const;
