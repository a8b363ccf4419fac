// What the console says about the deletion of an account.
export const d = {
  name: "Delete account…",
  title: (name: string) => `Delete the account of ${name}`,
  why: "This cannot be undone. Sessions, tokens, votes, and pending and rejected projects are deleted. Live projects stay, under another name.",
  action: "Delete account",
  reasonHint: "It is written to the log; the user does not see it.",
  done: (name: string) => `The account of ${name} is deleted.`,
} as const;
