// What the parts of the console say that are not of one page, in one place. Names and numbers come in as arguments.
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
  optional: "optional",
  left: (left: number) => `${n.format(left)} left`,
  over: (over: number) => `${n.format(over)} too many`,
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
  withUnread: ", with unread messages",
  yours: "Your projects",
  profile: "Public profile",
  console: "Console",
  signIn: "Sign in",
  membersOnly: "Sign in to see this page",
  signOut: "Sign out",
  signedOut: "You are signed out.",

  all: "All",
  more: "Show more",

  notFound: "Page not found",
  notFoundWhy: "There is nothing at this address. It may have been removed, or it is not public.",
  toDirectory: "To the directory",
  visit: "Visit the website",
  noDescription: "There is no description yet.",
} as const;
