// What was seen of the links of an item of the queue, and when; the press that takes a moved address over.
import { api, ask, type Schemas } from "../../api/client.ts";
import { act } from "../../console/dialog-state.ts";
import { ago, Time } from "../../parts/time.tsx";
import { say } from "../../state/notice.ts";
import { history } from "../../state/queue-history.ts";
import { patch } from "../../state/queue-record.ts";
import type { Item } from "../../state/queue.ts";
import { readOnly } from "../../state/session.ts";
import { t } from "../../text.ts";
import { l } from "./text.ts";

type Field = keyof typeof l.names;
type Look = NonNullable<Schemas["Link"]>;

export function Seen({ item: shown }: { item: Item }) {
  const { id, links, revision, repository } = shown;
  if (!links) return null;
  return (
    <section aria-labelledby="q-links">
      <h3 id="q-links">{l.links}</h3>
      <dl class="q-facts">
        {(Object.keys(l.names) as Field[]).filter((field) => shown[field] || revision?.changes[field]).map((field) => {
          const later = revision?.changes[field];
          const look = later ? revision?.links?.[field] : links[field];
          return [
            <dt key={field}>{l.names[field]}</dt>,
            <dd key={`${field} seen`}>{look ? <Looked look={look} /> : <span class="muted">{l.unseen}</span>} {!later && look?.state === "moved" && (
              <button type="button" class="button small" disabled={readOnly.value} onClick={() => void act("links", () => take(shown, field))}>{l.take}</button>
            )}</dd>,
          ];
        })}
        {repository && [<dt key="said">{l.repository}</dt>, <dd key="said text"><Said said={repository} /></dd>]}
      </dl>
      <p class="actions"><button type="button" class="button small" disabled={readOnly.value} onClick={() => void act("links", () => again(id))}>{l.again}</button></p>
    </section>
  );
}

/** That a link of a project is dead. */
export function Sign({ item: { links } }: { item: Item }) {
  return (links?.url?.dead || links?.repository_url?.dead) && <span class="badge rejected">{l.deadLink}</span>;
}

function Looked({ look: { state, status, since, checked_at, final_url, dead } }: { look: Look }) {
  return (
    <>
      {l.states[state]}{l.status(status)}{dead && <> <strong class="badge rejected">{l.isDead}</strong></>}
      {final_url && <> {l.movedTo} <bdi>{final_url}</bdi></>}
      {" "}<span class="muted">{l.since} <Time at={since} />. {l.looked} {ago(checked_at)}.</span>
    </>
  );
}

function Said({ said: { license, stars, archived, fork, language, pushed_at } }: { said: NonNullable<Item["repository"]> }) {
  const facts = [
    license, language, stars !== null && `${t.number(stars)} ${l.stars}`, pushed_at && `${l.changed} ${ago(pushed_at)}`,
    archived && l.archived, fork && l.fork,
  ];
  return <bdi>{facts.filter(Boolean).join(", ")}</bdi>;
}

async function take({ id, title }: Item, link: Field): Promise<void> {
  const params = { path: { project_id: id } };
  patch(id, await ask(api.PUT("/api/review/projects/{project_id}/links/moved", { params, body: { link } })));
  say(l.taken(title));
  void history.again();
}

async function again(id: number): Promise<void> {
  await ask(api.PUT("/api/review/projects/{project_id}/links/due", { params: { path: { project_id: id } } }));
  say(l.soon);
}
