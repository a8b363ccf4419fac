// The whole submission that is reviewed, and what can be decided about it.
import { Problem } from "../api/client.ts";
import { edits, states } from "../api/events.ts";
import { added } from "../extras/extra.ts";
import { asciiHost, safeAddress } from "../parts/address.ts";
import { Markdown } from "../parts/markdown.tsx";
import { Monogram } from "../parts/monogram.tsx";
import { Empty, Failed, Skeleton } from "../parts/states.tsx";
import { ago, Time } from "../parts/time.tsx";
import { say } from "../state/notice.ts";
import { addressOf } from "../state/queue-address.ts";
import { approve, askReason } from "../state/queue-decisions.ts";
import { isMine } from "../state/queue-approvals.ts";
import { showNew, story } from "../state/queue-history.ts";
import { differences, heldChanges, newlyHeld, picturesOf, since, valuesOf, waits } from "../state/queue-story.ts";
import { changed, current, type Item, item, linked, queue, selected } from "../state/queue.ts";
import { wasLive } from "../state/queue-record.ts";
import { personAt, readOnly } from "../state/session.ts";
import { t } from "../text.ts";
import { Changed, Pictures } from "./difference.tsx";
import { HeldOut } from "./queue-held.tsx";
import { Messages } from "./queue-messages.tsx";
import { Changes, History, Others } from "./queue-story.tsx";
import { Team } from "./queue-team.tsx";
import { Warnings } from "./queue-warnings.tsx";
import { r } from "./review-text.ts";
import { nobody } from "./sentences.ts";
import { m } from "./team-text.ts";
import { WithOwner } from "./turn.tsx";

export function ItemPane() {
  const shown = item.value;
  if (shown) return <Submission key={shown.id} item={shown} />;
  const problem = linked.problem.value;
  if (problem?.status === 404) return <Empty title={r.gone} why={r.goneWhy}><a class="button" href={addressOf(0)}>{r.toQueue}</a></Empty>;
  if (problem) return <Failed problem={problem} again={() => void linked.again()} />;
  if (current.value && (linked.busy.value || !queue.data.value)) return queue.problem.value ? null : <Skeleton rows={2} />;
  return queue.data.value?.items.length ? <p class="muted q-choose">{r.choose}</p> : null;
}

function Submission({ item: shown }: { item: Item }) {
  const { title, tagline, description_html, status, logo, pictures } = shown;
  return (
    <article class="q-item" aria-labelledby="q-title">
      <div class="q-main">
        <header>
          <Monogram name={title} logo={logo} />
          <div class="grow">
            <h2 id="q-title" dir="auto">{title}</h2>
            <p dir="auto">{tagline}</p>
          </div>
        </header>
        <Warnings item={shown} />
        {waits(shown) ? <Actions item={shown} /> : shown.review && added.appeals ? <added.appeals.Settle item={shown} /> : <p class={`banner ${status}`}>{r.decidedAlready(states[status])}</p>}
        {status === "live" && added.picks && <added.picks.Pick item={shown} />}
        <Team item={shown} />
        <HeldOut item={shown} />
        <WithOwner project={shown} />
        {wasLive(shown) && shown.review?.asked !== "unpublished" && <p class="banner pending">{r.wasLiveWhy}</p>}
        <Later />
        <SinceSeen item={shown} />
        <Held item={shown} />
        <Facts item={shown} />
        {added.links && <added.links.Seen item={shown} />}
        {pictures.length > 0 && <section><h3>{r.fields.pictures}</h3><Pictures list={picturesOf(pictures)} /></section>}
        <Changes />
        <Others />
        <History />
        <section>
          <h3>{r.description}</h3>
          {description_html ? <Markdown html={description_html} /> : <p class="muted">{t.noDescription}</p>}
        </section>
      </div>
      <Messages item={shown} />
    </article>
  );
}

function Actions({ item: shown }: { item: Item }) {
  const href = safeAddress(shown.revision?.changes.url ?? shown.url);
  const isMany = selected.value.size > 0; // the keys are about those
  return (
    <div class="q-actions">
      {isMine(shown) ? <strong class="small">{m.yours(shown)}</strong> : (
        <button type="button" class="button primary good" data-decides disabled={readOnly.value} onClick={(event) => once(event, () => approve([current.peek()]))}>
          {r.approve} {!isMany && <kbd>a</kbd>}
        </button>
      )}
      <button type="button" class="button danger" disabled={readOnly.value} onClick={() => askReason("reject", [current.peek()])}>{r.reject} {!isMany && <kbd>r</kbd>}</button>
      <button type="button" class="button" disabled={readOnly.value} onClick={() => askReason("request_changes", [current.peek()])}>{r.ask.request_changes.action(1)} {!isMany && <kbd>e</kbd>}</button>
      {href && <a class="button" href={href} target="_blank" rel="nofollow ugc noopener noreferrer">{r.open} <kbd>o</kbd></a>}
    </div>
  );
}

/** What the owner of a live project wants to change. */
function Held({ item: shown }: { item: Item }) {
  const changes = heldChanges(shown);
  if (!changes.length) return null;
  return (
    <section class="held">
      <h3>{r.held}</h3>
      <p class="muted">{r.heldWhy} <Time at={since(shown)} /></p>
      <Changed changes={changes} />
    </section>
  );
}

/** What the submission was when the reviewer looked at it first, where it has changed since. */
function SinceSeen({ item: shown }: { item: Item }) {
  const seen = changed.value.get(shown.id);
  if (!seen) return null;
  return (
    <section class="since">
      <p class="banner pending" role="status"><strong>{r.isNow}</strong></p>
      <Changed changes={[...differences(seen, shown), ...newlyHeld(seen, shown)]} />
    </section>
  );
}

/** What happened to the submission after the version that is shown. */
function Later() {
  const later = story.value?.later;
  if (!later) return null;
  const name = later.actor?.username ?? nobody(later);
  const isEdit = edits.includes(later.action);
  return (
    <div class="banner pending" role="status">
      <p>{isEdit ? r.laterEdit(name, ago(later.at)) : r.laterDecision(name, later.action, ago(later.at))}</p>
      <button type="button" class="button small" onClick={() => void showVersion()}>{r.showNew}</button>
    </div>
  );
}

async function showVersion(): Promise<void> {
  try {
    await showNew();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    say(`${error.title}. ${error.detail}`, { bad: true });
  }
}

const ELSEWHERE = ["title", "tagline", "description", "category", "tags", "logo", "pictures", "fields"]; // fields that are shown in another way

function Facts({ item: shown }: { item: Item }) {
  const { category, tags, owner, owner_stats, submitted_at } = shown;
  const texts: Record<string, unknown> = shown;
  const names = Object.keys(r.fields).filter((name) => texts[name] && !ELSEWHERE.includes(name));
  return (
    <dl class="q-facts">
      {names.map((name) => [
        <dt key={name}>{r.fields[name]}</dt>,
        <dd key={`${name} text`} dir="auto">{name.endsWith("url") ? <Address url={String(texts[name])} /> : String(texts[name])}</dd>,
      ])}
      {valuesOf(shown).map(([name, text]) => [<dt key={name}>{r.field(name)}</dt>, <dd key={`${name} text`} dir="auto">{text.startsWith("http") ? <Address url={text} /> : added.own?.labelOfValue(name, text) ?? text}</dd>])}
      <dt>{r.category}</dt><dd>{category.name}</dd>
      <dt>{r.tags}</dt><dd class="chips">{tags.length ? tags.map((tag) => <span class="tag" key={tag}>{tag}</span>) : <span class="muted">{r.noTags}</span>}</dd>
      <dt>{r.owner}</dt><dd><a href={personAt(owner)}>{owner.username}</a> <span class="muted">{r.record(owner_stats)}</span></dd>
      <dt>{r.submitted}</dt><dd><Time at={submitted_at} /></dd>
    </dl>
  );
}

/** An address in full, as one must see it before it is approved, with its host in ASCII where letters may deceive. */
function Address({ url }: { url: string }) {
  const href = safeAddress(url);
  const host = asciiHost(url);
  return (
    <>
      {href ? <a href={href} target="_blank" rel="nofollow ugc noopener noreferrer">{url}</a> : url}
      {host && <span class="muted"> ({host})</span>}
    </>
  );
}

/** Act on a click, but not on the second one of a double click: by then something else is in its place. */
export function once(event: MouseEvent, act: () => void): void {
  if (event.detail < 2) act();
}
