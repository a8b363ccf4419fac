// Everything that the console says.
export const c = {
  console: "Console",
  adminsOnly: "This page is for administrators",
  adminsOnlyWhy: "Your account is a member's. Ask an administrator to change its role.",
  waiting: "Waiting for review",
  oldest: "Oldest submitted",
  live: "Live projects",
  members: "Members",
  none: "None",
} as const;
