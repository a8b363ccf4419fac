"""Compare the copies and counters of each project that triggers maintain with the rows, and repair them.

Counted again are the votes that count, the rank, the standing, the tags, the values of own fields, the key of
the address, the search entry, and the keys that rules count by. Each project has the case that its status says, at its
place. `counter_checks` checks all else.

A look takes no locks, so what it finds is a suspicion: a vote may come between two of its statements. `confirm` looks
again under the locks that writers take, and what it finds is a fault.
"""

from collections.abc import Callable, Iterator
from math import isclose
from typing import Any, NamedTuple

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Text,
    and_,
    bindparam,
    cast,
    column,
    delete,
    func,
    insert,
    literal,
    select,
    table,
    update,
)
from sqlalchemy.dialects.postgresql import TSVECTOR

from directory import events
from directory.db.paging import AnySelect
from directory.db.transactions import lift_time_limits, on_postgresql
from directory.extensions import db, modify
from directory.models import (
    Outcome,
    Project,
    ProjectField,
    ProjectTag,
    Review,
    Reviewed,
    Status,
    Turn,
    Upvote,
    VoteRanking,
)
from directory.models.base import HIGHEST_ID
from directory.services import audit, turns
from directory.services.catalog import own_fields, search_counts, search_index
from directory.services.catalog.orders import hot
from directory.services.catalog.own_fields import Definitions
from directory.services.review import submissions
from directory.services.text.equal_addresses import repository_key, url_keys
from directory.services.text.keys import keys_of
from directory.services.votes.voting import COUNTS

LOOKED_AT_ONCE = 2_000

_KEYS = (Project.url_key, Project.repository_key, Project.domain, Project.text_key)
_ADDRESS = (Project.url, Project.repository_url, *_KEYS)
# The columns of a project that its vote ranking repeats.
_STANDING = tuple(column.name for column in VoteRanking.__table__.c if column.name != "project_id")

_TEXTS = (Project.title, Project.tagline, Project.author, Project.description, Project.url, Project.repository_url)
_PARTS = ("title", "brief", "description")  # of a search entry on SQLite

Scope = Callable[[ColumnElement[int]], ColumnElement[bool]]


class Fault(NamedTuple):
    """A copy or a counter that is wrong: of a project, of the category, tag or user `name`, or of the accounts; what it
    says, and what is right.
    """

    kind: str
    project_id: int | None
    stored: Any
    right: Any
    name: str = ""

    def __str__(self) -> str:
        if self.kind == "search":
            state = "missing or out of date in" if self.right else "gone, but still in"
            return f"project {self.project_id}: {state} the search index"
        if self.kind == "case":
            return f"project {self.project_id}: {self.right}, but its case is of a project that is {self.stored}"
        if self.kind == "place":
            return f"project {self.project_id}: its case has another place or category"
        if self.kind == "tagged":
            return f"tag {self.name}: live_projects {_shown(self.stored)} instead of {_shown(self.right)}"
        if self.kind == "standing":
            return f"project {self.project_id}: standing {'out of date' if self.stored else 'missing'}"
        if self.kind in {"submissions", "rows of last uses"}:
            return f"user {self.name}: {self.kind} {_shown(self.stored)} instead of {_shown(self.right)}"
        if self.kind == "days":
            return f"{self.name}: {_shown(self.stored)} counted instead of {_shown(self.right)}"
        others = f"category {self.name}" if self.name else "accounts"
        where = others if self.project_id is None else f"project {self.project_id}"
        return f"{where}: {self.kind} {_shown(self.stored)} instead of {_shown(self.right)}"


class Look(NamedTuple):
    """The result of a check: the numbers of projects and votes, and the suspected faults."""

    projects: int
    votes: int
    faults: list[Fault]

    def suspects(self) -> list[int]:
        """The ids of the projects, there or gone, with which something seems wrong."""
        return sorted({fault.project_id for fault in self.faults if fault.project_id is not None})


def scopes() -> Iterator[Scope]:
    """Ranges of ids that hold all projects together, some thousands each, and what lies between and beyond them."""
    low = 0
    while True:
        ids = select(Project.id).where(Project.id > low).order_by(Project.id).limit(LOOKED_AT_ONCE).subquery()
        size, last = db.session.execute(select(func.count(), func.max(ids.c.id))).one()
        high = last if size == LOOKED_AT_ONCE else HIGHEST_ID
        yield _between(low + 1, high)
        if high == HIGHEST_ID:
            return
        low = high


def look(scope: Scope) -> Look:
    """Compare the projects of a scope with their copies and counters."""
    lift_time_limits()
    stands = and_(*(getattr(VoteRanking, name) == getattr(Project, name) for name in _STANDING)).label("stands")
    counters = (Project.id, Project.upvotes, Project.hot, Project.listed_at, Project.status)
    case = (turns.status_of_case().label("reviewed"), turns.is_in_place().label("in_place"))
    columns = (*counters, Project.category_id, Project.tags, Project.fields, *_TEXTS, *_ADDRESS, stands, *case)
    query = select(*columns).outerjoin(VoteRanking, VoteRanking.project_id == Project.id)
    query = query.outerjoin(Review, turns.CURRENT)
    in_order = query.where(scope(Project.id.expression)).order_by(Project.id)  # of duplicates the oldest keeps the key
    projects = list(db.session.execute(in_order))
    votes = _votes(scope)
    tags, values, kinds = _tags(scope), _values(scope), own_fields.kinds()
    indexed, entries = _indexed(scope, projects)
    faults = [fault for project in projects for fault in _faults(project, votes, tags, indexed)]
    for project in projects:
        wanted, there = own_fields.index_of(project.fields, kinds), values.get(project.id, set())
        if there != wanted:
            faults.append(Fault("fields", project.id, _written(there), _written(wanted)))
    gone = entries - {project.id for project in projects}
    faults += [Fault("search", project_id, True, False) for project_id in sorted(gone)]
    return Look(len(projects), sum(votes.values()), faults)


def confirm(ids: list[int], *, repair: bool) -> list[Fault]:
    """The faults of these projects under their locks; repaired if `repair` asks for it."""
    locked = select(Project.id).where(Project.id.in_(ids)).order_by(Project.id)
    db.session.execute(locked.with_for_update(key_share=True))
    faults = look(lambda number: number.in_(ids)).faults
    for fault in faults if repair else ():
        _REPAIRS[fault.kind](fault)
    if repair and faults:
        search_counts.add_removals(len(faults))
        record_repair(faults)
    return faults


def record_repair(faults: list[Fault]) -> None:
    """Write the number of repaired faults to the audit log."""
    audit.record(events.COUNTERS_REPAIRED, by=None, changes={"faults": {"from": str(len(faults)), "to": "0"}})


def _between(low: int, high: int) -> Scope:
    return lambda number: number.between(low, high)


def _votes(scope: Scope) -> dict[int, int]:
    query = select(Upvote.project_id, func.count()).where(scope(Upvote.project_id.expression), COUNTS)
    return dict(db.session.execute(query.group_by(Upvote.project_id)).all())


def _tags(scope: Scope) -> dict[int, set[str]]:
    query = select(ProjectTag.project_id, ProjectTag.tag).where(scope(ProjectTag.project_id.expression))
    tags: dict[int, set[str]] = {}
    for project_id, tag in db.session.execute(query):
        tags.setdefault(project_id, set()).add(tag)
    return tags


def _indexed(scope: Scope, texts: list[Any]) -> tuple[set[int], set[int]]:
    """The projects whose entries have today's words wherever a search looks for them, and all that have any."""
    defined = own_fields.present()
    if on_postgresql():
        return _entries_of_postgresql(scope, texts, defined)
    key: ColumnElement[int] = column("rowid")
    right = {text.id: search_index.columns(text, defined) for text in texts}
    every: set[int] = set()
    for name, parts in (("project_search", _PARTS), ("project_search_brief", _PARTS[:2])):
        entries: AnySelect = select(key, *map(column, parts)).select_from(table(name)).where(scope(key))
        stored = {number: dict(zip(parts, words, strict=True)) for number, *words in db.session.execute(entries)}
        every |= stored.keys()
        right = {
            number: words
            for number, words in right.items()
            if number in stored and stored[number].items() <= words.items()
        }
    return set(right), every


def _entries_of_postgresql(scope: Scope, texts: list[Any], defined: Definitions) -> tuple[set[int], set[int]]:
    entries = table("project_search", column("project_id"), column("live"), column("document"))
    computed = (
        func.unnest(
            bindparam("ids", [text.id for text in texts], ARRAY(BigInteger)),
            bindparam("documents", [search_index.vector(text, defined)["document"] for text in texts], ARRAY(Text)),
        )
        .table_valued("id", "document", name="given")
        .render_derived()
    )
    right = (
        select(Project.id)
        .join(entries, and_(Project.id == entries.c.project_id, entries.c.live == (Project.status == Status.LIVE)))
        .join(computed, and_(computed.c.id == Project.id, cast(computed.c.document, TSVECTOR) == entries.c.document))
    )
    ids = set(db.session.scalars(right.where(scope(Project.id.expression))))
    return ids, ids  # a foreign key allows no others


def _values(scope: Scope) -> dict[int, set[own_fields.Indexed]]:
    columns = ProjectField.project_id, ProjectField.field, ProjectField.value, ProjectField.number
    values: dict[int, set[own_fields.Indexed]] = {}
    for row in db.session.execute(select(*columns).where(scope(ProjectField.project_id.expression))):
        values.setdefault(row.project_id, set()).add(own_fields.Indexed(row.field, row.value, row.number))
    return values


def _written(values: set[own_fields.Indexed]) -> list[str]:
    """Values of the index as a person reads them."""
    return sorted(f"{field} {value if number is None else f'{number:g}'}".strip() for field, value, number in values)


def _faults(project: Any, votes: dict[int, int], tags: dict[int, set[str]], indexed: set[int]) -> Iterator[Fault]:
    yield from _counted_faults(project, votes.get(project.id, 0))
    yield from _key_faults(project)
    if not project.stands:
        yield Fault("standing", project.id, project.stands is not None, True)
    if project.reviewed != project.status:
        yield Fault("case", project.id, project.reviewed, project.status)
    elif not project.in_place:
        yield Fault("place", project.id, False, True)
    if (tagged := tags.get(project.id, set())) != set(project.tags):
        yield Fault("tags", project.id, sorted(tagged), sorted(project.tags))
    if project.id not in indexed:
        yield Fault("search", project.id, False, True)


def _counted_faults(project: Any, counted: int) -> Iterator[Fault]:
    rank = hot(counted, project.listed_at)
    if project.upvotes != counted:
        yield Fault("upvotes", project.id, project.upvotes, counted)
    elif not isclose(project.hot, rank, rel_tol=1e-12):
        yield Fault("hot", project.id, project.hot, rank)


def _key_faults(project: Any) -> Iterator[Fault]:
    if project.url_key not in (keys := url_keys(project)):
        yield Fault("url_key", project.id, project.url_key, keys[0])
    if project.repository_key != (right := repository_key(project.repository_url)):
        yield Fault("repository_key", project.id, project.repository_key, right)
    domain, text_key = keys_of(project)
    if project.domain != domain:
        yield Fault("domain", project.id, project.domain, domain)
    if project.text_key != text_key:
        yield Fault("text_key", project.id, project.text_key, text_key)


def _shown(value: Any) -> str:
    if value is None or isinstance(value, str):
        return (value or "none")[:12]
    return ", ".join(value) or "none" if isinstance(value, list) else f"{value:,}"


def _recount(fault: Fault) -> None:
    listed = db.session.execute(select(Project.upvotes, Project.listed_at).where(Project.id == fault.project_id)).one()
    upvotes = fault.right if fault.kind == "upvotes" else listed.upvotes
    counters = {"upvotes": upvotes, "hot": hot(upvotes, listed.listed_at)}
    modify(update(Project).where(Project.id == fault.project_id).values(counters))


def _stand(fault: Fault) -> None:
    modify(delete(VoteRanking).where(VoteRanking.project_id == fault.project_id))
    project = select(Project.id, *(getattr(Project, name) for name in _STANDING)).where(Project.id == fault.project_id)
    db.session.execute(insert(VoteRanking).from_select(["project_id", *_STANDING], project))


def _retag(fault: Fault) -> None:
    modify(delete(ProjectTag).where(ProjectTag.project_id == fault.project_id))
    rows = [{"tag": tag, "project_id": fault.project_id} for tag in fault.right]
    if rows:
        db.session.execute(insert(ProjectTag), rows)


def _refill(fault: Fault) -> None:
    modify(delete(ProjectField).where(ProjectField.project_id == fault.project_id))
    values = db.session.scalar(select(Project.fields).where(Project.id == fault.project_id)) or {}
    rows = [value._asdict() for value in own_fields.index_of(values, own_fields.kinds())]
    if rows:
        db.session.execute(insert(ProjectField), [{**row, "project_id": fault.project_id} for row in rows])


def _rekey(fault: Fault) -> None:
    """Give a project the keys of its addresses, or a key apart where it is a duplicate of another of its owner."""
    columns = select(Project.id, Project.owner_id, Project.description, *_ADDRESS)
    project = db.session.execute(columns.where(Project.id == fault.project_id)).one()
    key, apart = url_keys(project)
    is_url = key != apart  # the rules of today take its URL for one
    is_taken = is_url and submissions.duplicate(project.owner_id, project.url, project.repository_url, but=project.id)
    keys = {"url_key": apart if is_taken else key, "repository_key": repository_key(project.repository_url)}
    domain, text_key = keys_of(project)
    modify(update(Project).where(Project.id == project.id).values(**keys, domain=domain, text_key=text_key))


def _review_again(fault: Fault) -> None:
    """Give a project the case that its status says: what is pending is in the queue. Who rejected is not known."""
    own = (Review.project_id == fault.project_id, Review.is_current)
    past: dict[str, Any] = {
        "turn": None,
        "until": None,
        "category": None,
        "logo": None,
        "changes": None,
        "reason": None,
    }
    outcome = func.coalesce(Review.outcome, Outcome.WITHDRAWN.value)
    modify(update(Review).where(*own).values(is_current=False, outcome=outcome, **past))
    if fault.right == Status.LIVE:
        return
    is_open = fault.right == Status.PENDING
    ends: Any = {"turn": Turn.REVIEWERS} if is_open else {"outcome": Outcome.REJECTED}
    words = [literal(word.value).label(name) for name, word in ({"kind": Reviewed.SUBMISSION} | ends).items()]
    columns = [Project.id, Project.submitted_at, Project.submitted_at, Project.category_id, *words]
    names = ["project_id", "since", "place", "category_id", "kind", *ends]
    rows: AnySelect = select(*(column.label(f"n{n}") for n, column in enumerate(columns)))
    db.session.execute(insert(Review).from_select(names, rows.where(Project.id == fault.project_id)))


def _place(fault: Fault) -> None:
    """Have the case of a project agree with what everybody reads of it."""
    project = select(Project.submitted_at, Project.category_id).where(Project.id == fault.project_id)
    at, category_id = db.session.execute(project).one()
    own = update(Review).where(Review.project_id == fault.project_id, Review.is_current)
    modify(own.values(category_id=category_id))
    modify(own.where(~turns.of_changes()).values(place=at))


def _reindex(fault: Fault) -> None:
    assert fault.project_id is not None  # noqa: S101 (of a category there are other faults)
    if fault.right:
        search_index.index([db.session.get_one(Project, fault.project_id)])
    else:
        search_index.forget(fault.project_id)


_REPAIRS = {
    "upvotes": _recount, "hot": _recount, "standing": _stand, "tags": _retag, "fields": _refill,
    "search": _reindex, "url_key": _rekey,
    "repository_key": _rekey, "domain": _rekey, "text_key": _rekey, "case": _review_again, "place": _place,
}  # fmt: skip
