"""The threads of projects: their entries, which of them the owner has read, and what is erased of them.

An entry is written in the transaction of what it tells of, and never changes, but for its text, which can be erased.
Owners get the entries without notes, and without the names of reviewers unless the operator shows these.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import and_, func, or_, select, update

from directory import events
from directory.db.paging import AnySelect, Position, Slice, Sort, Window, fetch
from directory.errors import NotFound
from directory.extensions import db, modify
from directory.models import Message, MessageKind, Project, Sender, User
from directory.models.base import HIGHEST_ID
from directory.services import audit, bulk, daily_bytes, permissions, service_words
from directory.services.catalog import catalog
from directory.services.identity import Caller

OLDEST = Sort((Message.id,), descending=False)
NO_NOTE = Message.kind != MessageKind.NOTE


class Entry(NamedTuple):
    """What is written into a thread: its kind, the ids of the project and of its owner, and the text."""

    kind: MessageKind
    project_id: int
    owner_id: int
    text: str = ""


def record_each(
    kind: MessageKind, projects: Iterable[Any], text: str | None, *, by: Caller | None, at: datetime
) -> None:
    """Add an entry of reviewers to the threads of projects (rows with id and owner_id), all with the same text.

    If `by` is None, the sender is the service. The entry is unread for the owner, unless `by` is the owner.
    """
    sender = Sender.REVIEWERS if by else Sender.SERVICE
    entries = (Entry(kind, project.id, project.owner_id, text or "") for project in projects)
    bulk.load_dicts(Message, [_row(entry, sender, by, at) for entry in entries])


def record_of_service(projects: Iterable[Any], text: str, *, by: Caller | None, at: datetime) -> None:
    """Add a message of the service about something that `by` did. It is unread for all owners but `by`."""
    entries = (Entry(MessageKind.MESSAGE, project.id, project.owner_id, text) for project in projects)
    rows = [_row(entry, Sender.SERVICE, None, at) for entry in entries]
    known = {"unread_by": None}
    bulk.load_dicts(Message, [row | known if by and by.id == row["unread_by"] else row for row in rows])


def add(entry: Entry, *, sender: Sender, by: Caller, at: datetime) -> dict[str, Any]:
    """Add one entry in the name of `by`, and return it as reviewers see it. The calling function holds the project."""
    message = Message(**_row(entry, sender, by, at))
    db.session.add(message)
    db.session.flush()  # assigns the id
    daily_bytes.note(entry.text, daily_bytes.ROW)
    return _view(message.id, at, sender, entry.kind, entry.text, by.id, by.username)


def _row(entry: Entry, sender: Sender, by: Caller | None, at: datetime) -> dict[str, Any]:
    author_id = by.id if by else None
    is_read = entry.kind is MessageKind.NOTE or author_id == entry.owner_id
    return {
        "project_id": entry.project_id,
        "at": at,
        "sender": sender.value,
        "kind": entry.kind.value,
        "text": entry.text,
        "author_id": author_id,
        "unread_by": None if is_read else entry.owner_id,
    }


def of_owner(project_id: int, window: Window, *, by: Caller, naming: bool) -> Slice:
    """The entries of a thread, oldest first, for the owner: without notes, and unless `naming` without authors.

    Raises NotFound for everybody else.
    """
    permissions.require_owner(by, catalog.whose(project_id))
    page = fetch(_entries().where(Message.project_id == project_id, NO_NOTE), OLDEST, window)
    page.items = [for_owner(_viewed(row), naming=naming) for row in page.items]
    return page


def for_reviewers(project_id: int, window: Window, *, by: Caller) -> Slice:
    """The entries of a thread, oldest first, with notes, unless the project is the caller's own.

    The calling function has checked that `by` may review the project, which exists.
    """
    is_own = select(Project.owner_id).where(Project.id == project_id).scalar_subquery() == by.id
    query = _entries().where(Message.project_id == project_id, or_(NO_NOTE, ~is_own))
    page = fetch(query, OLDEST, window)
    page.items = [_viewed(row) for row in page.items]
    return page


def requests(since: Mapping[int, datetime]) -> dict[int, str]:
    """The texts by which changes were asked for, by project: of those that wait for their owners since these times.

    What was taken down, and no changes were asked of since, has none.
    """
    if not since:
        return {}
    columns = select(Message.project_id, Message.text, Message.at)
    query = columns.where(Message.project_id.in_(since), Message.kind == MessageKind.CHANGES_REQUESTED)
    query = query.where(Message.at.in_({*since.values()}))
    return {row.project_id: row.text for row in db.session.execute(query) if row.at == since[row.project_id]}


def newest(project_ids: Collection[int]) -> dict[tuple[int, bool], dict[str, Any]]:
    """The newest decision and the newest request for changes in each thread: by project, and whether it is a request.

    With their authors.
    """
    is_request = Message.kind == MessageKind.CHANGES_REQUESTED
    kinds = (MessageKind.CHANGES_REQUESTED, MessageKind.APPROVED, MessageKind.REJECTED, MessageKind.UNPUBLISHED)
    latest = select(func.max(Message.id)).where(Message.project_id.in_(project_ids), Message.kind.in_(kinds))
    rows = db.session.execute(_entries().where(Message.id.in_(latest.group_by(Message.project_id, is_request))))
    return {(row.project_id, row.kind == MessageKind.CHANGES_REQUESTED): _viewed(row) for row in rows}


def newest_ids(project_ids: list[int]) -> dict[int, int]:
    """The id of the latest entry of each thread. The calling function has locked the projects."""
    query = select(Message.project_id, func.max(Message.id)).where(Message.project_id.in_(project_ids))
    return dict(db.session.execute(query.group_by(Message.project_id)).all())


def for_owner(entry: dict[str, Any], *, naming: bool) -> dict[str, Any]:
    """An entry as the owner sees it: unless `naming` without its author."""
    return entry if naming else {**entry, "author": None}


def latest(project_id: int, most: int, *, by: Caller, naming: bool, before: int = HIGHEST_ID) -> Slice:
    """The last entries of a thread before an id, oldest first, as `of_owner` gives them."""
    window = Window(most, page=None, position=Position((before,), forward=False))
    return of_owner(project_id, window, by=by, naming=naming)


def with_unread(project_ids: list[int], *, by: Caller) -> set[int]:
    """Those of the projects whose threads have entries that their owner `by` has not read."""
    unread = select(Message.project_id).where(Message.unread_by == by.id, Message.project_id.in_(project_ids))
    return set(db.session.scalars(unread.distinct()))


def mark_read(project_id: int, up_to: int, *, by: Caller) -> None:
    """Note that the owner has read the entries of a thread up to an id. Raises NotFound for everybody else."""
    permissions.require_owner(by, catalog.whose(project_id))
    read = update(Message).where(Message.project_id == project_id, Message.id <= up_to, Message.unread_by == by.id)
    modify(read.values(unread_by=None))


def mark_all_read(project_id: int, *, by: Caller) -> None:
    """Note that `by` has read the whole thread; nothing if the project belongs to somebody else."""
    read = update(Message).where(Message.project_id == project_id, Message.unread_by == by.id)
    modify(read.values(unread_by=None))


def unread(user_id: int) -> int:
    """The number of entries by others, in the threads of all projects of a user, that the user has not read."""
    return db.session.scalar(select(func.count()).where(Message.unread_by == user_id)) or 0


def erase(message_id: int, *, by: Caller) -> None:
    """Empty the text of an entry. An empty one stays as it is, and is not logged again. Raises NotFound."""
    query = select(Message.text, Project.id, Project.url_key, Project.title)
    query = query.join_from(Message, Project, Project.id == Message.project_id).where(Message.id == message_id)
    project = db.session.execute(query).one_or_none()
    if project is None:
        raise NotFound
    if modify(update(Message).where(Message.id == message_id, Message.text != "").values(text="")):
        audit.record_project(events.MESSAGE_ERASED, project, by=by)


def forget_user(user_id: int) -> None:
    """Empty what a user wrote as an owner and the notes about their projects; take the name from what they reviewed.

    The calling function has locked the user's projects.
    """
    owned = select(Project.id).where(Project.owner_id == user_id)
    written = and_(Message.author_id == user_id, Message.sender == Sender.OWNER)
    for message in (written, and_(Message.project_id.in_(owned), Message.kind == MessageKind.NOTE)):
        modify(update(Message).where(message, Message.text != "").values(text=""))
    modify(update(Message).where(Message.author_id == user_id, Message.sender != Sender.OWNER).values(author_id=None))


def exported(by: Caller, most: int | None, *, naming: bool) -> tuple[list[dict[str, Any]], bool]:
    """The newest entries, without notes, of the threads of a user's projects, and what the user wrote in others.

    And whether these are all; None for `most` means all.
    """
    owned = select(Message.id).join(Project, Project.id == Message.project_id).where(Project.owner_id == by.id)
    written = select(Message.id).where(Message.author_id == by.id)
    query = _entries().where(Message.id.in_(owned.union(written)), NO_NOTE).order_by(Message.id.desc())
    rows = list(db.session.execute(query.limit(most and most + 1)))
    shown = []
    for row in rows[:most]:
        is_own = row.author_id == by.id
        shown.append({**for_owner(_viewed(row), naming=naming or is_own), "project_id": row.project_id})
    return shown, most is None or len(rows) <= most


def _entries() -> AnySelect:
    # By a subquery for each entry: a join might read all users.
    name = select(User.username).where(User.id == Message.author_id).scalar_subquery()
    columns = (Message.id, Message.at, Message.sender, Message.kind, Message.text, Message.author_id)
    return select(*columns, name.label("username"), Message.project_id)


def _viewed(row: Any) -> dict[str, Any]:
    return _view(row.id, row.at, row.sender, row.kind, row.text, row.author_id, row.username)


def _view(*values: Any) -> dict[str, Any]:
    number, at, sender, kind, text, author_id, username = values
    author = None if author_id is None else {"id": author_id, "username": username}
    text = service_words.said(text) if sender == Sender.SERVICE else text
    return {"id": number, "at": at, "from": str(sender), "kind": str(kind), "text": text, "author": author}
