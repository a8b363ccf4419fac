"""Which projects are due, who looks at them, and what becomes of what was seen.

A lease is committed before anything is asked, and its token has to be in the row when what was seen is written: several
processes share the work, and each project is looked at by one of them.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, delete, false, func, literal, or_, select, union_all, update

from directory import events
from directory.db.paging import AnySelect
from directory.db.transactions import insert_into
from directory.errors import LinksOff
from directory.extensions import db, modify
from directory.extras.links import states
from directory.extras.links.states import FORGE, SHOWN, Entry, Looked
from directory.models import Judged, LinkCheck, LinkCount, LinkState, Project, Review, Status
from directory.services import permissions, turns
from directory.services.catalog import ways
from directory.services.catalog.additions import LINKS
from directory.services.catalog.filters import Filters
from directory.services.clock import database_clock, timestamp
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.drafts import Judge
from directory.services.identity import Caller, require_active
from directory.services.review import submissions
from directory.services.review.case import changes_of

LEASE = timedelta(minutes=3)
AT_ONCE = 500  # projects that are given their turn in one transaction
REVISION = "revision."  # begins the names of links in changes that wait
WATCHED = (Status.LIVE, Status.PENDING)
CHANGED = {events.PROJECT_EDIT_APPROVED, events.PROJECT_RETURNED}
CHANGED |= {event for event in events.TABLE if event.is_edit or event.judged is Judged.SUBMISSION}


@dataclass(frozen=True, slots=True)
class Watch:
    """A project that is ours to look at until the lease ends: its links by name, and what was known of them."""

    project_id: int
    token: str
    links: Mapping[str, str]
    known: Mapping[str, Entry]


def plan(days: int) -> int:
    """Give their turns to projects that have none, or none that can be right, at most AT_ONCE. Returns how many."""
    at = database_clock()
    is_late = states.is_misplanned(LinkCheck.due_at, at, days)
    missing = or_(LinkCheck.project_id.is_(None), is_late)
    query = select(Project.id).outerjoin(LinkCheck).where(missing, Project.status.in_(WATCHED))
    ids = db.session.scalars(query.order_by(Project.id).limit(AT_ONCE)).all()
    if ids:
        rows = [{"project_id": project_id, "due_at": states.next_turn(project_id, at, days)} for project_id in ids]
        adding = insert_into(LinkCheck).values(rows)
        due = {"due_at": adding.excluded.due_at}
        modify(adding.on_conflict_do_update(index_elements=["project_id"], set_=due, where=is_late))
    return len(ids)


def look_again(project_ids: Sequence[int], _by: Caller | None) -> None:
    """Have the links that an edit may have changed looked at, and say nothing any more of those that it replaced."""
    if not db.shows_links:
        return
    rows = [{"project_id": project_id, "due_at": states.EPOCH} for project_id in sorted(project_ids)]
    adding = insert_into(LinkCheck).values(rows)
    due = {"due_at": adding.excluded.due_at}
    db.session.flush()
    modify(adding.on_conflict_do_update(index_elements=["project_id"], set_=due))
    for project_id, (links, known) in _links(project_ids).items():
        if any(name in known and known[name]["url"] != links.get(name) for name in (*LINKS, FORGE)):
            _show(project_id, links, known)
            modify(update(LinkCheck).where(LinkCheck.project_id == project_id).values(_flags(_present(links, known))))


def waiting(at: datetime) -> bool:
    """Whether something is due; a read, so that idle workers never hold SQLite's write lock."""
    return db.session.scalar(select(LinkCheck.project_id).where(*_due(at)).limit(1)) is not None


def take(most: int, at: datetime, project_ids: Sequence[int] | None = None) -> list[Watch]:
    """Lease at most so many projects, those that have been due for longest, or these whether they are due or not."""
    which = _due(at) if project_ids is None else [LinkCheck.project_id.in_(project_ids), _is_free(at)]
    query = select(LinkCheck.project_id).where(*which).order_by(LinkCheck.due_at, LinkCheck.project_id).limit(most)
    ids = db.session.scalars(query.with_for_update(skip_locked=True)).all()
    if not ids:
        return []
    token = secrets.token_hex(16)
    held = {"lease_token": token, "leased_until": at + LEASE}
    modify(update(LinkCheck).where(LinkCheck.project_id.in_(ids)).values(held))
    links = _links(ids)
    gone = [project_id for project_id in ids if project_id not in links]
    if gone:  # those that were rejected: an edit brings them back
        modify(delete(LinkCheck).where(LinkCheck.project_id.in_(gone)))
    return [Watch(project_id, token, *links[project_id]) for project_id in ids if project_id in links]


def record(watch: Watch, looked: Looked, at: datetime, *, notify: list[Endpoint], judge: Judge | None = None) -> bool:
    """Write down what was seen, and have it judged where nothing was known. Returns whether the lease was still held.

    The project is locked first, as by everybody who changes it. What was seen of an address that it no longer has is
    forgotten.
    """
    _count(looked)
    db.session.execute(select(Project.id).where(Project.id == watch.project_id).with_for_update(key_share=True))
    held = LinkCheck.project_id == watch.project_id, LinkCheck.lease_token == watch.token
    if db.session.scalar(select(LinkCheck.project_id).where(*held).with_for_update()) is None:
        return False
    links, known = _links([watch.project_id]).get(watch.project_id, ({}, {}))
    kept = _present(links, {**known, **looked.entries})
    due = min((states.instant(look["due"]) for look in kept.values()), default=at)
    if len(kept) < len(links):
        due = states.EPOCH
    if due <= at and looked.busy is not None:
        due = at + timedelta(seconds=looked.busy)
    free: dict[str, Any] = {"lease_token": None, "leased_until": None, "due_at": due, "looks": kept, **_flags(kept)}
    modify(update(LinkCheck).where(*held).values(free))
    _show(watch.project_id, links, kept)
    seen = _arrived(_present(links, known), kept)
    if judge is not None and seen:
        submissions.judge_seen(watch.project_id, seen, judge, notify=notify)
    for name in LINKS:
        was = known.get(name)
        if name in kept and kept[name]["dead"] and not (was and was["url"] == links[name] and was["dead"]):
            link = {"field": name, "url": links[name], "since": kept[name]["failing"]["from"]}
            outbox.enqueue(events.PROJECT_LINK_DEAD, watch.project_id, by=None, endpoints=notify, link=link)
    return True


def add(project_ids: Sequence[int]) -> list[int]:
    """Give turns to these projects, now if they have none. Returns those that are looked at: live and pending ones."""
    watched = select(Project.id).where(Project.id.in_(project_ids), Project.status.in_(WATCHED)).order_by(Project.id)
    ids = list(db.session.scalars(watched))
    if ids:
        rows = [{"project_id": project_id, "due_at": states.EPOCH} for project_id in ids]
        modify(insert_into(LinkCheck).values(rows).on_conflict_do_nothing())
    return ids


def known(project_id: int) -> dict[str, Entry]:
    """What is known of the links of a project, by name."""
    return db.session.scalar(select(LinkCheck.looks).where(LinkCheck.project_id == project_id)) or {}


def hasten(project_id: int, *, by: Caller) -> None:
    """Have all links of a project looked at soon, whenever that was done last.

    Raises Unauthenticated, NotFound, LinksOff.
    """
    require_active(by)
    permissions.require_reviewer(by, submissions.locked(project_id))
    if not db.shows_links:
        raise LinksOff
    if add([project_id]):
        looks = {name: {**entry, "due": timestamp(states.EPOCH)} for name, entry in known(project_id).items()}
        of_project = update(LinkCheck).where(LinkCheck.project_id == project_id)
        modify(of_project.values(due_at=states.EPOCH, looks=looks or None))


def add_to_summary(answers: list[dict[str, Any]], *, by: Caller) -> None:
    """Add to the summary of the queue how many projects have a dead link, in the categories of the reviewer."""
    filters = Filters(added={"dead_link": "true"}, categories=permissions.categories(by))
    for answer in answers:
        answer["dead_links"] = ways.total(filters) if db.shows_links else None


def dead() -> AnySelect:
    """The number of projects with a dead link."""
    return select(func.count()).select_from(LinkCheck).where(LinkCheck.is_dead)


def counts() -> AnySelect:
    """How many looks found each state, 0 for those that none found."""
    possible = union_all(*(select(literal(state.value).label("state")) for state in LinkState)).subquery()
    number = func.coalesce(LinkCount.number, 0)
    return select(possible.c.state, number).outerjoin(LinkCount, LinkCount.state == possible.c.state)


def narrow(queries: list[dict[str, Any]], *, by: Caller) -> None:
    """Have a list contain only projects with a dead or a moved link. None has one while links are not looked at."""
    asked = {"dead": "dead_link", "moved": "moved_link"} if db.shows_links else {"dead": "no_link", "moved": "no_link"}
    for query in queries:
        if query.get("links") is not None:
            query["added"][asked[query["links"]]] = "true"


# The conditions of lists, by the ids of their projects.
CONDITIONS = {
    "dead_link": lambda project_id: project_id.in_(select(LinkCheck.project_id).where(LinkCheck.is_dead)),
    "moved_link": lambda project_id: project_id.in_(select(LinkCheck.project_id).where(LinkCheck.has_moved)),
    "no_link": lambda _project_id: false(),
}


def _present(links: Mapping[str, str], known: Mapping[str, Entry]) -> dict[str, Entry]:
    """What is known of the links that there are."""
    return {name: known[name] for name in links if name in known and known[name]["url"] == links[name]}


def _flags(seen: Mapping[str, Entry]) -> dict[str, bool]:
    """By what is known of a project, whether one of its links is dead, and whether one has moved."""
    public = [seen[name] for name in LINKS if name in seen]
    has_moved = any(look["state"] == LinkState.MOVED for look in public)
    return {"is_dead": any(look["dead"] for look in public), "has_moved": has_moved}


def _arrived(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> frozenset[str]:
    """The columns of the project that have something now, of its website or of its repository, and had nothing."""
    arrived = {"links": "url" in after and "url" not in before}
    arrived["repository"] = _said(after) is not None and _said(before) is None
    return frozenset(name for name, is_new in arrived.items() if is_new)


def _said(seen: Mapping[str, Entry]) -> dict[str, Any] | None:
    """What a forge said of the repository; None if none did."""
    return seen[FORGE]["facts"] if FORGE in seen else None


def _show(project_id: int, links: Mapping[str, str], known: Mapping[str, Entry]) -> None:
    """Have answers say what is known of the links of a project."""
    seen = _present(links, known)
    shown: dict[str, Any] = {name: _shown(seen.get(name)) for name in LINKS}
    if any(name.startswith(REVISION) for name in links):
        shown["revision"] = {name: _shown(seen.get(f"{REVISION}{name}")) for name in LINKS}
    values: dict[str, Any] = {"links": shown, "dead_since": states.dead_since(seen.get("url"))}
    values["repository"] = _said(seen)
    # An edit that is judged after this has the project loaded.
    changing = update(Project).where(Project.id == project_id).values(values)
    db.session.execute(changing, execution_options={"synchronize_session": "evaluate"})


def _shown(entry: Entry | None) -> dict[str, Any] | None:
    return None if entry is None else {name: entry[name] for name in SHOWN}


def _links(project_ids: Sequence[int]) -> dict[int, tuple[dict[str, str], dict[str, Entry]]]:
    """The links of live and pending projects by name, with those of changes that wait, and what is known of them."""
    columns = (Project.id, Project.url, Project.repository_url, LinkCheck.looks, Review)
    query = select(*columns).outerjoin(LinkCheck, LinkCheck.project_id == Project.id)
    query = query.outerjoin(Review, and_(turns.CURRENT, turns.of_changes()))
    by_project = {}
    for row in db.session.execute(query.where(Project.id.in_(project_ids), Project.status.in_(WATCHED))):
        links = {"url": row.url, "repository_url": row.repository_url}
        changes = changes_of(row.Review)
        links |= {f"{REVISION}{name}": changes.get(name) for name in LINKS}
        links[FORGE] = row.repository_url or row.url
        by_project[row.id] = ({name: url for name, url in links.items() if url}, row.looks or {})
    return by_project


def _count(looked: Looked) -> None:
    """Add what was seen to the numbers of the metrics, in the order of the states, so that no two wait crosswise."""
    for state in sorted(entry["state"] for name, entry in looked.entries.items() if name != FORGE):
        adding = insert_into(LinkCount).values(state=state, number=1)
        one_more = {"number": LinkCount.number + 1}
        modify(adding.on_conflict_do_update(index_elements=["state"], set_=one_more))


def _is_free(at: datetime) -> Any:
    """Whether no process has a lease on a project."""
    return or_(LinkCheck.leased_until.is_(None), states.is_over(LinkCheck.leased_until, at, LEASE))


def _due(at: datetime) -> list[Any]:
    return [LinkCheck.due_at <= at, _is_free(at)]
