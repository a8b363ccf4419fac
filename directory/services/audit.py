"""The append-only log of every change, written in the change's own transaction."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    and_,
    delete,
    func,
    insert,
    literal,
    literal_column,
    null,
    or_,
    select,
    tuple_,
    union,
    update,
)
from sqlalchemy.orm import aliased

from directory import events
from directory.db.paging import AnySelect, Position, Slice, Sort, Window, as_dict, fetch, windowed
from directory.db.statements import add_row_later
from directory.errors import NotFound
from directory.events import Event
from directory.extensions import db, modify
from directory.models import AuditEntry, AuditRetention, Project, User, now
from directory.services import bulk, daily_bytes, service_words
from directory.services.clock import database_clock
from directory.services.deleting import oldest_expired
from directory.services.identity import Caller

NEWEST = Sort((AuditEntry.id,), descending=True)
OLDEST = Sort((AuditEntry.id,), descending=False)
BY_TIME = Sort((AuditEntry.at, AuditEntry.id), descending=True)
# The most entries that a page reads to find matches, because no index contains the texts of the log.
READ_AT_ONCE = 20_000
# The filters with an index (value, id), the most selective first.
NARROWING = ("project_id", "user_id", "actor_id", "action")
OF_FIELDS = (events.FIELD_CREATED, events.FIELD_CHANGED, events.FIELD_DELETED)
# What the timeline calls the events that it has.
TIMELINE = {event: event.timeline_name or event.word for event in events.TABLE if event.timeline}


def record(action: Event, *, by: Caller | None, **facts: Any) -> None:
    """Add an entry to the current transaction. `by` is None for a command of the operator."""
    add_row_later(AuditEntry, {"at": now(), **facts, "action": action, "actor_id": by.id if by else None})
    if facts.get("changes"):
        daily_bytes.note(facts["changes"], daily_bytes.ROW)


def record_project(action: Event, project: Any, *, by: Caller | None, **facts: Any) -> None:
    """Add an entry about a project: an object with its id, url_key and title as they are after the change."""
    record_each([(project, {"at": now(), **facts, "action": action})], by=by)


def record_each(entries: Iterable[tuple[Any, dict[str, Any]]], *, by: Caller | None, **facts: Any) -> None:
    """Add entries about locked projects to the current transaction in their order, in bulk, and tell the extras.

    Each is a project and the facts about it alone; `facts` are those of all entries. All entries have the same columns;
    `action` and `at` are among them.
    """
    facts["actor_id"] = by.id if by else None
    added = [
        {"project_id": project.id, "url_key": project.url_key, "project_title": project.title, **facts, **own}
        for project, own in entries
    ]
    bulk.load_dicts(AuditEntry, added)
    for changes in filter(None, (row.get("changes") for row in added)):
        daily_bytes.note(changes, daily_bytes.ROW)
    for action in dict.fromkeys(row["action"] for row in added):
        project_ids = [row["project_id"] for row in added if row["action"] == action]
        for on_event in db.on_event[action]:
            on_event(project_ids, by)


def purge(days: int, most: int, *, guarded: bool = True) -> int:
    """Delete at most `most` entries older than so many days, and return the number. The oldest have the lowest ids.

    Raises MostWouldGo.
    """
    before = database_clock() - timedelta(days=days)
    ids = oldest_expired(AuditEntry, before, most, guarded=guarded)
    if ids:
        db.session.execute(insert(AuditRetention).values(before=before))
        modify(delete(AuditEntry).where(AuditEntry.id.in_(ids)))
        modify(delete(AuditRetention))
    return len(ids)


def gone(owner_id: int, project_ids: Collection[int]) -> AnySelect:
    """The ids of the projects that are gone, of these and of all that an owner submitted, for a condition."""
    submitted = and_(AuditEntry.actor_id == owner_id, AuditEntry.action == events.PROJECT_SUBMITTED)
    is_there = select(Project.id).where(Project.id == AuditEntry.project_id).exists()
    return select(AuditEntry.project_id).where(or_(submitted, AuditEntry.project_id.in_(project_ids)), ~is_there)


def erase(projects: AnySelect) -> None:
    """Erase the titles and texts of projects that are gone: ids stay."""
    modify(update(AuditEntry).where(AuditEntry.project_id.in_(projects)).values(project_title=None, changes=null()))


def unmoved(project: Any) -> dict[str, Any]:
    """The states of an entry about a project that stays in its state."""
    return {"from_state": project.status, "to_state": project.status}


@dataclass(frozen=True, slots=True)
class Scan:
    """A range of an index, in its order. `value` is that of its first column if the range has a single one."""

    sort: Sort
    lower: ColumnElement[bool] | None = None
    upper: ColumnElement[bool] | None = None
    value: Any = None

    def bounds(self, window: Window, reached: tuple[Any, ...] | None = None) -> list[ColumnElement[bool]]:
        """The conditions for a window, up to the entry with the keys `reached`."""
        goes_down = self.sort.descending == (window.start != "before")
        if reached is not None and self.value is not None:
            return self._between(window, reached, goes_down=goes_down)
        near, far = (self.upper, self.lower) if goes_down else (self.lower, self.upper)
        if window.position is not None:
            near = None  # the position is the bound
        if reached is not None:
            keys = zip(self.sort.keys, reached, strict=True)
            here, there = tuple_(*self.sort.keys), tuple_(*(literal(value, key.type) for key, value in keys))
            far = here >= there if goes_down else here <= there
        return [bound for bound in (near, far) if bound is not None]

    def _between(self, window: Window, reached: tuple[Any, ...], *, goes_down: bool) -> list[ColumnElement[bool]]:
        """Compare only the last key: for a comparison of rows SQLite uses only the first column of the index."""
        key, conditions = self.sort.keys[-1], [self.sort.keys[0] == self.value]
        conditions.append(key >= reached[-1] if goes_down else key <= reached[-1])
        if window.position is not None:
            place = window.position.keys[-1]
            conditions.append(key < place if goes_down else key > place)
        return conditions


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the log; None is no filter. `actor` and `user` are usernames.

    `q` is a part of a project's title, of the reason, or of the username of the actor or the user. `since` is
    inclusive, `until` exclusive. `imports` is "false" for a log without the entries of imported projects.
    """

    action: str | None = None
    project_id: int | None = None
    user_id: int | None = None
    actor_id: int | None = None
    actor: str | None = None
    user: str | None = None
    q: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    imports: str | None = None


def entries(window: Window, filters: Filters) -> Slice:
    """A slice of the whole log, newest first.

    It is read from one index, in the order of the index. If further filters remain, at most `READ_AT_ONCE` entries are
    read: the slice may then have fewer items than the limit, or none, although the list continues.
    """
    equal, has_imports = _equal(filters), filters.imports is None
    if equal is None or (filters.action == events.PROJECT_IMPORTED and not has_imports):
        return Slice([], None, None)
    by = next((name for name in NARROWING if name in equal), None)
    others = [getattr(AuditEntry, name) == value for name, value in equal.items() if name != by]
    others += [] if filters.q is None else [_contains(filters.q)]
    others += [] if has_imports else [AuditEntry.action != events.PROJECT_IMPORTED]
    since = None if filters.since is None else AuditEntry.at >= filters.since
    until = None if filters.until is None else AuditEntry.at < filters.until
    if by is not None:
        others += [bound for bound in (since, until) if bound is not None]
        return _search(_by(by, equal[by], NEWEST), others, window)
    return _search(Scan(NEWEST) if since is None and until is None else Scan(BY_TIME, since, until), others, window)


def _equal(filters: Filters) -> dict[str, Any] | None:
    """The required values by column. None if no entry can have them."""
    equal = {name: getattr(filters, name) for name in NARROWING if getattr(filters, name) is not None}
    for column, username in (("actor_id", filters.actor), ("user_id", filters.user)):
        if username is not None:
            user_id = db.session.scalar(select(User.id).where(User.username == username))
            if user_id is None or equal.setdefault(column, user_id) != user_id:
                return None
    return equal


def _contains(text: str) -> ColumnElement[bool]:
    """Whether an entry contains a text, in upper or lower case.

    SQLite's lower() changes only ASCII letters, so the text is searched in lower, upper, title and its own case.
    """
    spellings = {_lower_ascii(written) for written in (text, text.lower(), text.upper(), text.title())}
    texts = (func.lower(column) for column in (AuditEntry.project_title, AuditEntry.reason))
    conditions = [lowered.contains(spelling, autoescape=True) for lowered in texts for spelling in sorted(spellings)]
    for user_id in (AuditEntry.actor_id, AuditEntry.user_id):
        conditions.append(_username(user_id).contains(text.lower(), autoescape=True))
    return or_(*conditions)


def _lower_ascii(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _search(scan: Scan, others: list[ColumnElement[bool]], window: Window) -> Slice:
    """A slice of the entries in a range of an index that meet the other conditions."""
    if not others:
        return _viewed(fetch(_query().where(*scan.bounds(window)), scan.sort, window))
    backwards, reached = window.start == "before", _last_read(scan, window)
    query = _query().where(*scan.bounds(window, reached), *others)
    page = _viewed(fetch(query, scan.sort, window))
    if reached is not None and backwards:
        page.previous = page.previous or Position(reached, forward=False)
    elif reached is not None:
        page.next = page.next or Position(reached, forward=True)
    return page


def _last_read(scan: Scan, window: Window) -> tuple[Any, ...] | None:
    """The keys of the last entry that a page reads. None if the log ends before."""
    keys = windowed(select(AuditEntry.id).where(*scan.bounds(window)), scan.sort, window.start, 1)
    keys = keys.offset(literal_column(str(READ_AT_ONCE - 1)))
    row = db.session.execute(keys, window.parameters()).first()
    return None if row is None else tuple(row[-len(scan.sort.keys) :])


def latest_of_user(user_id: int, most: int = 20) -> list[dict[str, Any]]:
    """The latest entries by or about a user, newest first.

    Each of the two kinds is read from the end of its own index: one query would read and sort all entries.
    """
    kinds = (AuditEntry.actor_id, AuditEntry.user_id)
    ids = [select(AuditEntry.id).where(kind == user_id).order_by(AuditEntry.id.desc()).limit(most) for kind in kinds]
    either = union(*(select(of_kind.subquery()) for of_kind in ids)).subquery()
    query = _query().where(AuditEntry.id.in_(select(either))).order_by(AuditEntry.id.desc()).limit(most)
    return [_view(row) for row in db.session.execute(query)]


def history(project_id: int, window: Window, *, categories: tuple[int, ...] | None = None) -> Slice:
    """The entries of a project and of all submissions of its URL, newest first; those in `categories`, if not None.

    A deleted project belongs to its last category. Raises NotFound if neither the project nor an entry of it exists, or
    if the project is in another category.
    """
    if categories is not None and not db.session.scalar(select(_category(literal(project_id)).in_(categories))):
        raise NotFound
    keys = select(Project.url_key).where(Project.id == project_id)
    logged = select(AuditEntry.url_key).where(AuditEntry.project_id == project_id)
    known = keys.union(logged)
    others: ColumnElement[bool] = AuditEntry.url_key.in_(known)
    if categories is not None:
        others &= _category(AuditEntry.project_id).in_(categories)
    query = _query().where(or_(AuditEntry.project_id == project_id, others))
    page = _viewed(fetch(query, NEWEST, window))
    if not page.items and not db.session.scalar(select(known.exists())):
        raise NotFound
    return page


def _category(project_id: Any) -> ColumnElement[Any]:
    """The category of a project, or the last one of a deleted project; null if a version without it deleted it."""
    gone = aliased(AuditEntry)
    present = select(Project.category_id).where(Project.id == project_id)
    last = select(func.max(gone.category_id)).where(gone.project_id == project_id)
    return func.coalesce(present.scalar_subquery(), last.scalar_subquery())


def timeline(project_id: int, window: Window, *, naming_fields: bool = False) -> Slice:
    """The events of a project, oldest first, as its owner may see them: without the names of the reviewers.

    Each item has `at`, `event` and, for a rejection or unpublishing that gave one, `reason`. With `naming_fields` an
    edit has `fields`, the names of the fields that it changed.
    """
    columns = [AuditEntry.at, AuditEntry.action, AuditEntry.reason, *([AuditEntry.changes] if naming_fields else [])]
    query = select(*columns).where(AuditEntry.action.in_(TIMELINE))
    scan = _by("project_id", project_id, OLDEST)
    page = fetch(query.where(*scan.bounds(window)), scan.sort, window)
    page.items = [_event(row) | ({"fields": _edited(row)} if naming_fields else {}) for row in page.items]
    return page


def _edited(row: Any) -> list[str]:
    return list(row.changes or {}) if events.BY_NAME[row.action].is_edit else []


def timelines(project_ids: list[int]) -> dict[int, list[dict[str, Any]]]:
    """The whole timeline of each of the projects, by its id."""
    columns = (AuditEntry.project_id, AuditEntry.at, AuditEntry.action, AuditEntry.reason)
    query = select(*columns).where(AuditEntry.project_id.in_(project_ids), AuditEntry.action.in_(TIMELINE))
    by_project: dict[int, list[dict[str, Any]]] = {project_id: [] for project_id in project_ids}
    for row in db.session.execute(query.order_by(AuditEntry.project_id, AuditEntry.id)):
        by_project[row.project_id].append(_event(row))
    return by_project


def _by(name: str, value: Any, sort: Sort) -> Scan:
    """The entries whose column `name` has `value`, from the index that begins with the column.

    The column is part of the order, and has a lower and an upper bound. With an equality both databases may scan the
    log by its primary key for the value, and read all of it if the matching entries are old.
    """
    column = getattr(AuditEntry, name)
    return Scan(Sort((column, *sort.keys), sort.descending), column >= value, column <= value, value)


def _event(row: Any) -> dict[str, Any]:
    event = events.BY_NAME[row.action]
    reason = row.reason if event.has_reason else None
    return {"at": row.at, "event": TIMELINE[event]} | ({} if reason is None else {"reason": service_words.said(reason)})


def _query() -> AnySelect:
    columns = [c for c in AuditEntry.__table__.c if c.name not in {"url_key", "waited_seconds", "category_id"}]
    names = {"actor_username": AuditEntry.actor_id, "username": AuditEntry.user_id}
    return select(*columns, *(_username(user_id).label(name) for name, user_id in names.items()))


def _username(user_id: Any) -> ScalarSelect[str]:
    """The username, by a subquery for each entry: a join might read all users."""
    return select(User.username).where(User.id == user_id).scalar_subquery()


def _viewed(page: Slice) -> Slice:
    page.items = [_view(row) for row in page.items]
    return page


def _view(row: Any) -> dict[str, Any]:
    entry = as_dict(row)
    entry["actor"] = _named(entry.pop("actor_id"), username=entry.pop("actor_username"))
    entry["project"] = _named(entry["project_id"], title=entry.pop("project_title"))
    entry["user"] = _named(entry["user_id"], username=entry.pop("username"))
    if entry["action"] in OF_FIELDS:
        named = (entry["changes"] or {}).get("name", {})
        entry["field"] = named.get("to") or named.get("from")
    return entry


def _named(number: int | None, **name: str | None) -> dict[str, Any] | None:
    return None if number is None else {"id": number, **name}
