// Everything that the public pages say, in one place. Names, dates and numbers come in as arguments.
const n = new Intl.NumberFormat("en");
const plural = new Intl.PluralRules("en");

/** A number with its noun: "1 project", "2 projects". */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${n.format(number)} ${plural.select(number) === "one" ? one : many}`;
}

/** A text that ends as a sentence does, with one full stop. */
export function ended(text: string): string {
  return /[.!?…。！？]$/.test(text) ? text : `${text}.`;
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
  sessionEnded: "Your session has ended. Sign in to go on.",
  outdated: "What you see may be out of date.",
  cancel: "Cancel",
  close: "Close",

  account: "Account",
  yours: "Your projects",
  profile: "Public profile",
  submit: "Submit a project",
  console: "Console",
  signIn: "Sign in",
  signOut: "Sign out",
  signedOut: "You are signed out.",

  all: "All",
  more: "Show more",

  upvote: (title: string, votes: number) => `Upvote ${title}, ${count(votes, "vote")}`,
  voteRefused: (title: string, why: string) => `Your vote for ${title} was not counted. ${why}`,

  notFound: "Page not found",
  notFoundWhy: "There is nothing at this address. It may have been removed, or it is not public.",
  toDirectory: "To the directory",
  projectGone: "Project not found",
  projectGoneWhy: "It may have been removed, or it is waiting for review and only its owner can see it.",
  visit: "Visit the website",
  noDescription: "There is no description yet.",
  edit: "Edit",
  editAgain: "Edit and send again",
  states: { live: "Live", pending: "In review", rejected: "Rejected" },
  takenDown: "Taken down",
  reason: "Reason",

  history: "History",
  events: {
    submitted: "Submitted", edited: "Edited", approved: "Approved", rejected: "Rejected", unpublished: "Taken down",
    edit_held: "Changes sent for review", edit_approved: "Changes approved", edit_rejected: "Changes not accepted", edit_withdrawn: "Changes withdrawn",
  } as Record<string, string>,

} as const;
