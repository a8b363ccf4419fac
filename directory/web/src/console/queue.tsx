// The review queue: the list on the left, the submission on the right. On a phone each is a page of its own.
import { signal } from "@preact/signals";
import { states } from "../api/events.ts";
import { More } from "../parts/more.tsx";
import { Empty, Failed, Stale } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { categories, loadCategories } from "../state/categories.ts";
import { addressOf, filters, isNarrow, isNarrowed, laneOf, PATH } from "../state/queue-address.ts";
import { approve, askReason } from "../state/queue-decisions.ts";
import {
  changed, clearSelection, current, enterQueue, go, type Item, loadQueue, queue, rows, selectAll,
  selected, selectTo, showMore, takesFocus, toggle, waitingCount,
} from "../state/queue.ts";
import { wasLive } from "../state/queue-record.ts";
import { refreshQueue } from "../state/queue-refresh.ts";
import { since } from "../state/queue-story.ts";
import { address, type Page } from "../state/router.ts";
import { isAdministrator, readOnly, user } from "../state/session.ts";
import { t } from "../text.ts";
import { Frame } from "./frame.tsx";
import { ItemPane, once } from "./queue-item.tsx";
import { Lanes, rulesOf } from "./queue-held.tsx";
import { Outcomes } from "./queue-outcomes.tsx";
import { ApprovalDialog } from "./queue-approve.tsx";
import { ReasonDialog } from "./queue-reason.tsx";
import { TeamSigns, TooFew } from "./queue-team.tsx";
import { r } from "./review-text.ts";
import { Filters } from "./table.tsx";
import { w } from "./text.ts";
import "../styles/console-queue.css";

refreshQueue();
const unfolded = signal(false); // whether the filters are shown

export const reviewQueue: Page = {
  enter: ([id = "0"]) => {
    enterQueue(Number(id));
    if (isNarrowed()) unfolded.value = true;
    if (!categories.data.peek()) loadCategories();
  },
  view: Queue,
  title: () => r.queue,
};

function Queue() {
  const isItem = address.value.pathname !== PATH;
  return (
    <Frame title={<Top />} kind={`queue${isItem ? " one" : ""}`} reviews>
      <Lanes />
      <details class="changes q-filters" open={unfolded.value} onToggle={(event) => (unfolded.value = event.currentTarget.open)}>
        <summary>{w.filters}</summary>
        <Filters listing={filters} />
      </details>
      <div class="q-panes">
        <div class="q-list"><TooFew /><List /><Outcomes /></div>
        <Pane />
      </div>
      <ApprovalDialog />
      <ReasonDialog />
    </Frame>
  );
}

function Top() {
  return (
    <header class="q-top">
      <a class="button small q-back" href={addressOf(0)}>{r.toQueue}</a>
      <h1>{r.queue}</h1>
      <span class="grow" />
      <button type="button" class="button small q-again" disabled={queue.busy.value} onClick={() => void loadQueue()}>{r.refresh}</button>
    </header>
  );
}

/** The place of the submission; another one begins at its top. */
function Pane() {
  return <div class="q-pane" key={current.value}><ItemPane /></div>;
}

function List() {
  const found = queue.data.value;
  const problem = queue.problem.value;
  const again = () => void queue.again();
  if (!found) return problem ? <Failed problem={problem} again={again} /> : <Loading />;
  const list = rows.value;
  return (
    <>
      {problem && <Stale problem={problem} again={again} />}
      {list.length > 0 ? <><Selection count={list.length} /><Rows items={list} /></> : !found.next && <Nothing />}
      {found.next && <More add={showMore} links=".q-rows a" />}
    </>
  );
}

function Loading() {
  return (
    <div class="skeleton" role="status" aria-busy="true" aria-label={t.loading}>
      {Array.from({ length: 8 }, (_, place) => <div class="q-row" key={place} aria-hidden="true"><span /><span class="line long" /></div>)}
    </div>
  );
}

function Nothing() {
  const lane = isNarrowed() ? undefined : laneOf(address.value);
  if (lane && lane !== "review") return <Empty {...r.noneIn[lane]}><a class="button" href={PATH}>{r.toQueue}</a></Empty>;
  if (filters.filtered) return <Empty title={w.nothing} why={w.nothingWhy}><a class="button" href={filters.whole}>{w.showAll}</a></Empty>;
  return <Empty title={r.empty} why={r.emptyWhy}>{isAdministrator.value && <a class="button" href="/admin">{w.toDashboard}</a>}</Empty>;
}

/** What can be done with all that is selected. */
function Selection({ count }: { count: number }) {
  const ids = rows.value.map((each) => each.id).filter((id) => selected.value.has(id));
  const isAll = ids.length === count;
  const all = r.selectAllOf(count, waitingCount.value);
  return (
    <div class="q-selection">
      <label class="q-check">
        <input type="checkbox" checked={isAll} aria-label={all} onClick={isAll ? clearSelection : selectAll} />
      </label>
      {ids.length === 0 ? <span class="muted small">{all}</span> : (
        <>
          <strong class="small grow">{r.selectedOf(ids.length, waitingCount.value)}</strong>
          <button type="button" class="button small ghost" onClick={clearSelection}>{r.clear}</button>
          <p>
            <button type="button" class="button small primary good" data-decides disabled={readOnly.value} onClick={(event) => once(event, () => approve(ids))}>
              {r.approveMany(ids.length)} <kbd>a</kbd>
            </button>
            <button type="button" class="button small danger" disabled={readOnly.value} onClick={() => askReason("reject", ids)}>{r.rejectMany(ids.length)} <kbd>r</kbd></button>
            <button type="button" class="button small" disabled={readOnly.value} onClick={() => askReason("request_changes", ids)}>{r.askMany(ids.length)} <kbd>e</kbd></button>
          </p>
        </>
      )}
    </div>
  );
}

function Rows({ items }: { items: readonly Item[] }) {
  const shown = items.some((each) => each.id === current.value) ? current.value : items[0]?.id;
  return (
    <ul class="q-rows" aria-label={r.list} aria-busy={queue.busy.value}>
      {items.map((each) => <Row key={each.id} item={each} isShown={each.id === current.value} isReached={each.id === shown || isNarrow()} />)}
    </ul>
  );
}

interface RowProps {
  item: Item;
  isShown: boolean;
  /** Whether the Tab key stops at it; the others are reached by j and k. */
  isReached: boolean;
}

function Row({ item, isShown, isReached }: RowProps) {
  const { id, title, owner, status, earlier, revision, warnings } = item;
  const tabIndex = isReached ? 0 : -1;
  const isSelected = selected.value.has(id);
  return (
    <li class={`q-row${isShown ? " shown" : ""}${isSelected ? " selected" : ""}`}>
      <label class="q-check">
        <input type="checkbox" tabIndex={tabIndex} checked={isSelected} aria-label={r.select(title)} onClick={(event) => (event.shiftKey ? selectTo(id) : toggle(id))} />
      </label>
      <a href={addressOf(id)} tabIndex={tabIndex} aria-current={isShown ? "true" : undefined} ref={(link) => focus(link, id)} onClick={(event) => open(event, id)}>
        <span class="q-title" dir="auto">{title}</span>
        <span class="muted small"><Time at={since(item)} /></span>
        <span class="q-signs">
          <span class="q-owner muted">{owner.username}</span>
          {owner.id === user.value?.id && <span class="badge">{r.own}</span>}
          {wasLive(item) && <span class="badge pending">{r.wasLive}</span>}
          {status === "live" && revision && <span class="badge live">{r.changesBadge}</span>}
          {!item.review && <span class={`badge ${status}`}>{states[status]}</span>}
          <TeamSigns item={item} />
          {changed.value.has(id) && <span class="badge pending">{r.changedBadge}</span>}
          {signs(warnings).map((each) => <span key={each} class="badge pending">{each}</span>)}
          {earlier > 0 && <span class="tag" title={r.again(earlier)}>+{t.number(earlier)}<span class="unseen"> {r.again(earlier)}</span></span>}
        </span>
      </a>
    </li>
  );
}

/** The warnings in few words: one for all rules. */
function signs(warnings: readonly string[]): string[] {
  const rules = rulesOf(warnings).length;
  return [...warnings.flatMap((each) => r.warnings[each]?.sign ?? []), ...(rules ? [r.rules(rules)] : [])];
}

/** Put the focus on a row that was gone to, once everything is drawn: behind an open dialog it could not take it. */
function focus(link: HTMLElement | null, id: number): void {
  if (!link || !takesFocus(id)) return;
  queueMicrotask(() => {
    if (!link.isConnected) return;
    link.focus({ preventScroll: true });
    link.scrollIntoView({ block: "nearest" });
  });
}

function open(event: MouseEvent, id: number): void {
  if (isNarrow() || event.button || event.metaKey || event.ctrlKey || event.altKey) return;
  event.preventDefault();
  if (event.shiftKey) selectTo(id);
  else go(id);
}
