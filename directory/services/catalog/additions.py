"""Data that some lists add to their projects: places in the queue, and for administrators the background of each."""

from dataclasses import replace
from functools import cache
from typing import Any

from sqlalchemy import String, bindparam, cast, func, literal_column, or_, select, tuple_, union_all
from sqlalchemy.orm import aliased

from directory.db.paging import AnySelect, Window
from directory.db.statements import Prepared, Row, among
from directory.extensions import db
from directory.models import Message, Project, Review, Reviewed, RuleAction, Status, Turn
from directory.services import permissions
from directory.services.catalog import catalog, similar, ways
from directory.services.catalog.filters import Filters
from directory.services.catalog.search_words import whole
from directory.services.identity import Caller
from directory.services.text import markdown
from directory.services.text.characters import has_lookalikes, in_latin
from directory.services.text.equal_addresses import repository_key
from directory.services.turns import in_queue

P, R, M = Project.__table__.c, Review.__table__.c, RuleAction.__table__.c
LOOKALIKES = "lookalike_title"  # letters of the title look like those of another script
OWNER_SUSPENDED = "owner_suspended"  # the owner's account is suspended
SAME_REPOSITORY = "same_repository"  # another project has its repository, as repository or as website
LINK_GONE, LINK_UNREACHABLE = "link_gone", "link_unreachable"  # its website or repository, when it was last looked at
ARCHIVED = "repository_archived"  # its repository is, as the forge says
WARNINGS = (LOOKALIKES, SAME_REPOSITORY, OWNER_SUSPENDED, LINK_GONE, LINK_UNREACHABLE, ARCHIVED)
LINKS = ("url", "repository_url")
# The parts of a reviewer's list besides the queue, as the summary calls them.
LANES = {
    "messages": Filters(answered="true"),
    "held": Filters(held="true"),
    "waiting_for_owner": Filters(with_owner="true"),
    "waiting_for_appeal": Filters(in_appeal="true"),
}
MOST_TITLES = 20  # of a list that are looked up by their letters; it would take a flood of them to have more
BY_RULE = "rule:"  # and the name of a rule that matched


def add_background(projects: list[dict[str, Any]], *, by: Caller) -> None:
    """Add `owner_stats`, `earlier`, `warnings`, `resembles`, `answered` and `description_html` to each.

    It takes two statements in all, and two more where a warning is about another project, which `by` may see.
    """
    stats = counts({project["owner"]["id"] for project in projects})
    others = _Others(projects)
    shared = [others.of_repository(project) for project in projects]
    html = markdown.several([project["description"] for project in projects])
    for project, same_repository, description in zip(projects, shared, html, strict=True):
        project["owner_stats"] = stats[project["owner"]["id"]]
        project["earlier"] = others.earlier(project)
        project["answered"] = others.have_answer(project)
        holds = {
            LOOKALIKES: has_lookalikes(_waiting(project)["title"]), SAME_REPOSITORY: bool(same_repository),
            OWNER_SUSPENDED: is_of_suspended(project), **_seen_of_links(project),
        }  # fmt: skip
        project["warnings"] = [warning for warning in WARNINGS if holds[warning]] + others.marks(project)
        project["description_html"] = description
    _add_resembled(projects, shared, by)


def _add_resembled(projects: list[dict[str, Any]], shared: list[set[int]], by: Caller) -> None:
    """Add `resembles`: for a warning that is about other projects the first of them that `by` may see.

    `shared` are for each project those with its repository.
    """
    titles = [_waiting(project)["title"] for project in projects if LOOKALIKES in project["warnings"]]
    alike = _titled_alike(titles)
    about = [
        {LOOKALIKES: alike.get(_waiting(project)["title"], set()), SAME_REPOSITORY: same_repository}
        for project, same_repository in zip(projects, shared, strict=True)
    ]
    seen = _named({one for ids in about for resembled in ids.values() for one in resembled}, by=by)
    for project, ids in zip(projects, about, strict=True):
        project["resembles"] = {
            name: next((seen[one] for one in sorted(resembled) if one in seen), None) if resembled else None
            for name, resembled in ids.items()
        }


def summary(by: Caller) -> dict[str, Any]:
    """How much waits for review in the categories of `by`, and since when, and the numbers of the other LANES there."""
    categories = permissions.categories(by)
    queue = catalog.page(Filters(waiting="true", categories=categories), "oldest", Window(1), viewer=by, reviews=True)
    oldest = queue.items[0]["standing"].since if queue.items else None
    numbers = {name: ways.total(replace(lane, categories=categories)) for name, lane in LANES.items()}
    return {"queue_length": queue.total, "oldest_submitted_at": oldest, **numbers}


def is_of_suspended(project: dict[str, Any]) -> bool:
    """Whether the owner of a project is suspended. A deleted account is too: nobody is there to answer for it."""
    return not project["owner_has_page"]


class _Others:
    """The other projects that have the addresses of some projects, and whose owners wrote last, by one statement."""

    def __init__(self, projects: list[dict[str, Any]]) -> None:
        self._keys = {project["id"]: _address_keys(project) for project in projects}
        keys = {key for pair in self._keys.values() for key in pair if key is not None}
        values = {"ids": sorted(self._keys), "keys": sorted(keys)}
        rows = _others(db.engine.dialect.name).all(values) if projects else []
        self._found = {(kind, key): (first, last) for kind, key, first, last in rows}
        self._marks: dict[str, list[str]] = {}
        for kind, key, *_ in rows:
            if kind.startswith(BY_RULE):
                self._marks.setdefault(key, []).append(kind)

    def earlier(self, project: dict[str, Any]) -> int:
        """How many others have the website of a project."""
        return int(self._found.get(("earlier", str(project["id"])), (0, 0))[0])

    def have_answer(self, project: dict[str, Any]) -> bool:
        """Whether the owner wrote the last entry in the thread of a project, notes aside."""
        return ("answered", str(project["id"])) in self._found

    def marks(self, project: dict[str, Any]) -> list[str]:
        """The warnings of the rules that matched what waits of a project, in the order of their names."""
        return sorted(self._marks.get(str(project["id"]), ()))

    def of_repository(self, project: dict[str, Any]) -> set[int]:
        """The first and the last of the others whose repository is the website or the repository of a project, as its
        revision would have them, and of those whose website is its repository.
        """
        website, repository = self._keys[project["id"]]
        places = [("repository", website), ("repository", repository)]
        if repository != website:  # of one website there are `earlier` ones
            places.append(("website", repository))
        return {one for place in places for one in self._found.get(place, ())} - {project["id"]}


def _waiting(project: dict[str, Any]) -> dict[str, Any]:
    """A project after the changes that wait for review."""
    revision = project.get("revision")
    return project | revision["changes"] if revision else project


def _seen_of_links(project: dict[str, Any]) -> dict[str, bool]:
    """Which warnings there are about the links of a project, after the changes that wait for review."""
    revision, shown = project.get("revision") or {}, project.get("links") or {}
    changes, of_changes = revision.get("changes") or {}, revision.get("links") or {}
    seen = [(of_changes if name in changes else shown).get(name) for name in LINKS] if of_changes or shown else ()
    states = {link["state"] for link in seen if link is not None}
    facts = None if "repository_url" in changes else project.get("repository")
    is_archived = facts is not None and bool(facts.get("archived"))
    return {LINK_GONE: "gone" in states, LINK_UNREACHABLE: "unreachable" in states, ARCHIVED: is_archived}


def _address_keys(project: dict[str, Any]) -> tuple[str | None, str | None]:
    """The keys of the website and the repository of a project, after the changes that wait for review."""
    waits = _waiting(project)
    return repository_key(waits.get("url")), repository_key(waits.get("repository_url"))


def counts(owner_ids: set[int]) -> dict[int, dict[str, int]]:
    """The number of projects in each state, by owner, from an index that begins with the owner."""
    by_owner = {owner: numbers for owner, *numbers in _rows(_counts(db.engine.dialect.name), owner_ids)}
    return {owner: dict(zip(Status, by_owner.get(owner) or [0 for _ in Status], strict=True)) for owner in owner_ids}


def add_queue_positions(items: list[dict[str, Any]]) -> None:
    """Add to each project of a page its place in the queue (None if it does not wait), by at most one statement."""
    waits = [(item["standing"].since, item["id"]) for item in items if item["standing"].turn is Turn.REVIEWERS]
    positions: dict[int, int] = {}
    if waits:
        last_at, last_id = max(waits)
        values = {"ids": [project_id for _, project_id in waits], "last_at": last_at, "last_id": last_id}
        positions = dict(db.session.execute(_positions(), values).all())
    for item in items:
        item["queue_position"] = positions.get(item["id"])


def _rows(query: Prepared, ids: set[int]) -> list[Row]:
    return query.all({"ids": sorted(ids)}) if ids else []


@cache
def _counts(dialect: str) -> Prepared:
    numbers = (func.count().filter(P.status == status).label(status) for status in Status)
    query: AnySelect = select(P.owner_id, *numbers).where(among(P.owner_id, dialect)).group_by(P.owner_id)
    return Prepared(query)


@cache
def _others(dialect: str) -> Prepared:
    """How many others have the URL of each project, whether its owner wrote last, and the rules that matched it; by key
    of an address the first and the last project that has it.
    """
    other = aliased(Project)
    same = (other.url_key == Project.url_key) & (other.id != Project.id)
    number: Any = (literal_column("'earlier'").label("kind"), cast(Project.id, String).label("key"))
    query: AnySelect = select(*number, func.count().label("first"), literal_column("0").label("last")).join(other, same)
    query = query.where(among(Project.id, dialect)).group_by(Project.id)
    keyed = [_keyed("website", P.url_key, dialect), _keyed("repository", P.repository_key, dialect)]
    return Prepared(union_all(query, _answered(dialect), _marked(dialect), *keyed))


def _answered(dialect: str) -> AnySelect:
    """The projects whose owners wrote last, by the index of these entries."""
    columns: Any = (literal_column("'answered'").label("kind"), cast(Message.project_id, String).label("key"))
    query: AnySelect = select(*columns, literal_column("1").label("first"), literal_column("0").label("last"))
    return query.where(among(Message.project_id, dialect), Message.is_unanswered)


def _marked(dialect: str) -> AnySelect:
    """The rules that have matched each submission since, or changes that wait."""
    is_of_case = M.of_revision == (R.kind == literal_column(f"'{Reviewed.CHANGES}'"))
    marked = literal_column(f"'{BY_RULE}'").op("||")(M.rule_name)
    kind: Any = (marked.label("kind"), cast(M.project_id, String).label("key"))
    numbers: Any = (literal_column("0").label("first"), literal_column("0").label("last"))
    query: AnySelect = select(*kind, *numbers).join_from(M.id.table, R.id.table, R.project_id == M.project_id)
    is_shown = or_(R.outcome.is_(None), ~M.of_revision)
    return query.where(among(M.project_id, dialect), R.is_current, is_of_case, is_shown, M.at >= R.place).distinct()


def _keyed(kind: str, column: Any, dialect: str) -> AnySelect:
    columns: Any = (literal_column(f"'{kind}'").label("kind"), column.label("key"))
    query: AnySelect = select(*columns, func.min(P.id).label("first"), func.max(P.id).label("last"))
    return query.where(among(column, dialect, "keys", String)).group_by(column)


@cache
def _positions() -> AnySelect:
    """The places of some projects, by one scan of the queue up to the last of them."""
    order = (R.place, R.project_id)
    last = tuple_(bindparam("last_at", type_=R.place.type), bindparam("last_id", type_=P.id.type))
    number = func.row_number().over(order_by=order).label("number")
    queue = select(R.project_id, number).where(in_queue(), tuple_(*order) <= last).subquery("queue")
    query: AnySelect = select(queue.c.project_id, queue.c.number)
    return query.where(queue.c.project_id.in_(bindparam("ids", expanding=True)))


def _titled_alike(titles: list[str]) -> dict[str, set[int]]:
    """For each of the first titles the live projects whose titles read like it in Latin letters, by one statement."""
    keys = {title: key for title in titles[:MOST_TITLES] if (key := whole(in_latin(title))) is not None}
    matches = similar.matches([[key] for key in keys.values()]) if keys else []
    return dict(zip(keys, matches, strict=True))


def _named(ids: set[int], *, by: Caller) -> dict[int, dict[str, Any]]:
    """The id and title of each project that `by` may see: what is live, and what is in their categories."""
    if not ids:
        return {}
    seen = or_(P.status == Status.LIVE, permissions.within(P.category_id, by))
    rows = db.session.execute(select(P.id, P.title).where(P.id.in_(sorted(ids)), seen))
    return {row.id: row._asdict() for row in rows}
