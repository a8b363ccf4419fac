// The thread of the submission that is shown: messages to its owner, notes of the reviewers, and the field that writes.
import { Time } from "../parts/time.tsx";
import { history } from "../state/queue-history.ts";
import { draft, inform, isWriting, kind, KINDS, type Message, MOST, send, write } from "../state/queue-writing.ts";
import type { Item } from "../state/queue.ts";
import { personAt, readOnly } from "../state/session.ts";
import { t } from "../text.ts";
import { m } from "./team-text.ts";

export function Messages({ item: { id } }: { item: Item }) {
  const messages = history.data.value?.id === id ? history.data.value.messages : null;
  if (!messages) return null;
  return (
    <section class="q-messages">
      <h3>{m.messages}</h3>
      {messages.length > 0 && <ol class="timeline" aria-label={m.messages}>{messages.map((each) => <Entry key={each.id} entry={each} />)}</ol>}
      <Writing key={id} />
    </section>
  );
}

function Entry({ entry: { from, kind: what, text, author, at } }: { entry: Message }) {
  return (
    <li class={what}>
      <span class="sentence">{author ? <a href={personAt(author)}>{author.username}</a> : m.from[from]}</span> <span class={what === "note" ? "badge pending" : "muted"}>{m.kind[what]}</span> <Time at={at} />
      <p dir="auto">{text || <span class="muted">{m.wordless}</span>}</p>
    </li>
  );
}

function Writing() {
  const left = MOST - [...draft.value].length;
  return (
    <form onSubmit={submit}>
      <select aria-label={m.what} value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value as typeof kind.value)}>
        {KINDS.map((each) => <option key={each} value={each}>{m.write[each]}</option>)}
      </select>
      <textarea id="q-write" aria-label={m.text} placeholder={m.hint[kind.value]} rows={3} dir="auto" value={draft.value} ref={inform}
        onInput={(event) => write(event.currentTarget.value)} onKeyDown={onKey} />
      <p class="actions">
        <button type="submit" class="button small" disabled={readOnly.value || isWriting.value || left < 0 || !draft.value.trim()}>{m.write[kind.value]}</button>
        {left < 200 && <span class="small muted">{left < 0 ? t.over(-left) : t.left(left)}</span>}
      </p>
    </form>
  );
}

function onKey(event: KeyboardEvent): void {
  if (event.key === "Escape") (event.currentTarget as HTMLElement).blur();
  else if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
  else void send();
  event.preventDefault();
}

function submit(event: SubmitEvent): void {
  event.preventDefault();
  void send();
}
