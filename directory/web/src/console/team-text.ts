// What the review queue says of the others of a team and of messages.
import type { Schemas } from "../api/client.ts";
import { didInThread } from "../api/events.ts";
import { t } from "../text.ts";

type Approved = Pick<Schemas["QueueItem"], "approvals">;
type Approvals = NonNullable<Approved["approvals"]>;

export const m = {
  part: ({ given, required }: Approvals, more = 0) => `${t.number(given.length + more)} of ${t.number(required)}`,
  yours: ({ approvals }: Approved): string => (approvals ? `Your approval (${m.part(approvals)})` : ""),
  approvedOf: ({ title, approvals }: Approved & { title: string }, others: number): string =>
    `${others ? `Your approvals of ${t.number(others + 1)} submissions` : `Your approval of ${title}`}${approvals ? ` (${m.part(approvals, 1)})` : ""}.`,
  waitsForAnother: (title: string) => `You have approved ${title}. It waits for another person.`,
  given: (given: number, required: number, by: string[]) => `${t.number(given)} of ${t.number(required)} approvals${by.length ? `: ${by.join("; ")}` : ""}`,
  withdraw: "Take back my approval",
  kept: (title: string, given: number, required: number) => `${title}: ${t.number(given)} of ${t.number(required)} approvals. It waits for another person.`,
  tooFew: (names: string[]) => `Fewer people may review than have to approve. Nothing can be approved in: ${names.join(", ")}.`,

  appeal: "Appeal",
  waitsForOwner: "With the owner",
  answered: "Answered",
  messages: "Messages",
  from: { owner: "The owner", reviewers: "A reviewer", service: "The service" },
  kind: {
    message: "", note: "Note", ...didInThread,
  },
  wordless: "Without words",
  what: "What you write",
  text: "Text",
  write: { message: "Send to the owner", note: "Note for reviewers" },
  hint: { message: "The owner reads it.", note: "Owners never see notes." },
} as const;
