// Changes by the console: at once, or after a dialog that asks for confirmation.
import { effect, signal } from "@preact/signals";
import { Problem } from "../api/client.ts";
import type { Named } from "../extras/extra.ts";
import { say } from "../state/notice.ts";
import { address } from "../state/router.ts";
import { learn, onNewCaller } from "../state/session.ts";

export interface DialogField {
  name: string;
  label: string;
  hint?: string;
  /** `choice`: one of the options; `many`: any of them, which commas separate in the value. */
  kind?: "line" | "text" | "check" | "choice" | "many";
  value?: string;
  /** The values that can be chosen, each with its name. */
  options?: readonly (readonly [string, string])[];
  optional?: boolean;
  /** Of a text: the decision whose saved replies can be chosen, and the project that it is about. */
  replies?: { decision: string; project: Named };
}

export interface Question {
  title: string;
  text?: string;
  /** What the button says. */
  action: string;
  danger?: boolean;
  fields?: readonly DialogField[];
  /** Does it. A Problem is shown in the dialog, which stays open. */
  act: (given: Record<string, string>) => Promise<unknown>;
}

export const question = signal<Question | null>(null);
export const problem = signal<Problem | null>(null); // why the answer to the question was refused
export const busy = signal(""); // what is being done

/** Open the dialog. */
export function ask(asked: Question): void {
  problem.value = null;
  question.value = asked;
}

export function close(): void {
  question.value = null;
  problem.value = null;
}

// A question is about the page that it was asked on.
onNewCaller(close);
effect(() => {
  address.value;
  close();
});

/** Do what the dialog asked about. False where it was refused. */
export async function answer(given: Record<string, string>): Promise<boolean> {
  const asked = question.peek();
  if (!asked || busy.peek()) return false;
  problem.value = null;
  const refused = await attempt("question", () => asked.act(given));
  if (question.peek() !== asked) return !refused;
  if (refused) problem.value = refused;
  else close();
  return !refused;
}

/** Do something at once. A refusal is said in the line of notices. */
export async function act(name: string, doing: () => Promise<unknown>): Promise<void> {
  if (busy.peek()) return;
  const refused = await attempt(name, doing);
  if (refused) say(`${refused.title}. ${refused.detail}`, { bad: true });
}

async function attempt(name: string, doing: () => Promise<unknown>): Promise<Problem | null> {
  busy.value = name;
  try {
    await doing();
    return null;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    learn(error);
    return error;
  } finally {
    busy.value = "";
  }
}
