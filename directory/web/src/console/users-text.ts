// What the console says about roles, about one user, and about decisions about many.
import { count, t } from "../text.ts";

const words = { suspend: ["Suspend", "suspended"], delete: ["Delete", "deleted"] } as const;
type Decision = keyof typeof words;

export const u = {
  storedToday: "Stored today",
  kilobytes: (bytes: number, most: number | null) =>
    `${t.number(Math.round(bytes / 1000))} KB${most === null ? "" : ` of at most ${t.number(Math.round(most / 1000))} KB`}`,
  some: (decision: Decision, number: number) => `${words[decision][0]} ${count(number, "account")}`,
  all: (decision: Decision, number: number) => `${words[decision][0]} all ${count(number, "account")} found…`,
  title: (decision: Decision, number: number) => `${words[decision][0]} ${count(number, "account")}?`,
  why: {
    suspend: "They are signed out everywhere, their tokens stop working, and their votes no longer count, until they are restored. Administrators are left out.",
    delete: "This cannot be undone. Sessions, tokens, votes, and pending and rejected projects are deleted. Live projects stay, under another name. Administrators are left out.",
  },
  role: "Change the role…",
  roleOf: (name: string) => `Change the role of ${name}`,
  roleWhy: "Reviewers review the projects of their categories. Administrators also suspend users, and see everything in this console.",
  roleDo: "Change the role",
  categories: "Categories to review",
  every: "All categories",
  reviewerOf: (names?: string[]) => `Reviewer of ${names?.join(", ") ?? "all categories"}`,
  fromProvider: (role: string, provider: string) => `${role}, by a group of the provider ${provider}`,
  roleChanged: (name: string, role: string) => `${name} has the role ${role.toLowerCase()} now.`,
  unpublish: "Also take down all of their live and pending projects",
  done: (decision: Decision, changed: number, remaining: number) =>
    `${count(changed, "account")} ${words[decision][1]}${remaining ? `; ${count(remaining, "account")} left` : ""}.`,
} as const;
