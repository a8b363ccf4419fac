// The saved replies: texts that reviewers choose for a decision.
import { api, ask, type Schemas } from "../../api/client.ts";
import { Resource } from "../../state/resource.ts";
import { onNewCaller, session } from "../../state/session.ts";
import type { Named } from "../extra.ts";

export type Reply = Schemas["Reply"];

const replies = new Resource<readonly Reply[]>(true);
onNewCaller(() => replies.clear());

/** Read the replies. If that fails, those of the last time stay. */
export function loadReplies(): Promise<void> {
  return replies.load("replies", async (signal) => (await ask(api.GET("/api/review/replies", { signal }))).items);
}

/** The replies for a decision, by name. */
export function repliesFor(decision: string): readonly Reply[] {
  return replies.data.value?.filter((each) => each.decision === decision) ?? [];
}

/** A text in which the words in braces are replaced by what they stand for. */
export function filled(text: string, { title, owner }: Named): string {
  const values: Record<string, string> = { title, owner: owner.username, site: session.peek()?.site.name ?? "" };
  return text.replace(/\{(title|owner|site)\}/g, (_, name: string) => values[name] as string);
}
