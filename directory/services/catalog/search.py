"""Full-text search: which projects match a query, and how well. The values are those of `search_language.expressions`.

The rank of a match has a step for each of TIERS, and BY_SYNONYMS below them; equal ones are ordered by votes. Unlike
bm25 or ts_rank none of it depends on other projects, so a cursor stays valid while they change.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    FromClause,
    Select,
    String,
    bindparam,
    case,
    cast,
    column,
    exists,
    func,
    literal_column,
    not_,
    or_,
    select,
    text,
    true,
)
from sqlalchemy import table as named
from sqlalchemy.dialects.postgresql import TSQUERY
from sqlalchemy.sql.selectable import LateralFromClause

from directory.db.paging import AnySelect
from directory.models import Status, VoteRanking
from directory.services.catalog.columns import unindexed
from directory.services.catalog.search_language import (
    ALONE,
    KNOWN,
    RAREST,
    SUBSTRINGS,
    TIERS,
    TYPED,
    WHOLE,
    WORDS,
    Tier,
    name,
)
from directory.services.catalog.search_words import BREAK

# The total of a search counts no more matches, and best match ranks no more: those with the most votes.
MOST = 10_000
BY_SYNONYMS = -1  # the rank of what matches by synonyms alone; 0 is that of TYPED

Condition = Callable[[ColumnElement[int]], ColumnElement[bool]]

_PARTS = {"title": ("title",), "brief": ("title", "brief"), "anywhere": ("title", "brief", "description")}

_BETWEEN = literal_column(f"' {BREAK} '", String)
_index = named(
    "project_search",
    *(column("project_id", BigInteger), column("rowid", BigInteger), column("document"), column("live", Boolean)),
    *(column(name, String) for name in _PARTS["anywhere"]),
)

_brief = named("project_search_brief", column("rowid", BigInteger))


def matching(dialect: str, tier: Tier = TIERS[-1], *, tested: bool = False) -> Select[tuple[int]]:
    """The ids of the projects that match at least as well as `tier` says; its values are `expressions`.

    With `tested` the index is asked only for the rarest words (the value RAREST), and each project that it finds is
    tested.
    """
    holds = _holds(tier, dialect)
    if tested:  # PostgreSQL asks no index for a condition that IS TRUE
        rarest = cast(bindparam(RAREST, type_=String), TSQUERY)
        holds = _index.c.document.op("@@", is_comparison=True)(rarest) & holds.is_(true())
    query: Any = select(_key(dialect).label("id")).where(holds)
    return query.correlate(None)  # type: ignore[no-any-return]


def number(
    dialect: str, most: ColumnElement[int], *, live: bool, tested: bool = False, tagged: Condition | None = None
) -> Select[int]:
    """The number of projects that match, or of live ones, but no more than `most`; its values are `expressions`.

    `tested` says how they are found, see `matching`; `tagged` is another condition, for the id of a project. With
    either PostgreSQL has to be kept from reading the whole index as a table, which the function does by itself.
    """
    if dialect == "postgresql":
        if tested or tagged is not None:
            return _counted(matching(dialect, tested=tested), dialect, most, live, tagged)
        asked = cast(bindparam(name(TIERS[-1]), type_=String), TSQUERY)
        return select(func.search_matches(asked, literal_column("true" if live else "false"), most, type_=BigInteger))
    # By whole words first, whose projects FTS5 finds one by one; those with beginnings it finds all before the first.
    surely, all_ = (_counted(matching(dialect, tier), dialect, most, live, tagged) for tier in (WORDS, TIERS[-1]))
    counted = surely.subquery("surely")  # a table, so that it is counted once
    return select(case((counted.c.number >= most, counted.c.number), else_=all_.scalar_subquery()))


def has_each(units: int) -> Select[int]:
    """A row if something meets each of so many conditions of `search_language.alone`, for SQLite."""

    def met(name: str, number: int) -> ColumnElement[bool]:
        asked = bindparam(name.format(number), type_=String)
        return exists(select(_index.c.rowid).where(_matches(asked)))

    return select(literal_column("1")).where(*(or_(met(WHOLE, n), met(ALONE, n)) for n in range(units)))


def known(conditions: int, most: ColumnElement[int], *, live: bool) -> Select[int]:
    """The number of projects that meet so many conditions of `search_language.known`, but no more than `most`.

    PostgreSQL counts them in a sample of the index, and in the whole where these are too few.
    """
    asked = (cast(bindparam(KNOWN.format(n), type_=String), TSQUERY) for n in range(conditions))
    holds = [_index.c.document.op("@@", is_comparison=True)(condition) for condition in asked]
    meeting = select(_index.c.project_id.label("id")).where(*holds)
    sample = meeting.where(_index.c.live, text("(project_id & 65535) < 4096"))
    first, all_ = (_counted(some, "postgresql", most, live, None).scalar_subquery() for some in (sample, meeting))
    return select(case((first >= most, first), else_=all_).label("surely"))


def _counted(
    matches: Select[tuple[int]], dialect: str, most: ColumnElement[int], live: bool, tagged: Condition | None
) -> Select[int]:
    if live and dialect == "postgresql":
        matches = matches.where(_index.c.live)
    match = matches.subquery("match")
    query: AnySelect = select(match.c.id)
    if live and dialect == "sqlite":  # as a join it might begin with the live projects, and search for each
        ranking = VoteRanking.__table__.c
        status = select(ranking.status).where(ranking.project_id == match.c.id).scalar_subquery()
        query = query.where(status == literal_column(f"'{Status.LIVE}'"))
    if tagged is not None:
        query = query.where(tagged(match.c.id))
    return select(func.count().label("number")).select_from(query.limit(most).subquery("counted"))


def found(project_id: ColumnElement[int], dialect: str) -> ColumnElement[bool]:
    """The condition that a project matches, tested for each project: for words that many have. Values: `expressions`.

    Neither planner turns a subquery for one value into a join, or into a list of all matches.
    """
    entry = select(_reaches(TIERS[-1], dialect)).where(_key(dialect) == project_id)
    return entry.correlate(project_id.table).scalar_subquery()


def leading(tier: Tier, dialect: str, most: int) -> Select[tuple[int]]:
    """The ids of the projects that have the words in the parts of `tier`, at most `most`.

    The tier must not search descriptions: its matches are found by an index without them.
    """
    asked: Any = bindparam(name(tier), type_=String)
    if dialect == "postgresql":
        scope: Any = literal_column(f"'{tier[0]}'")
        ids = func.search_leading(scope, cast(asked, TSQUERY), literal_column(str(most)), type_=BigInteger)
        return select(ids.table_valued("id", name="leading").render_derived().c.id)
    holds = literal_column("project_search_brief").op("MATCH", is_comparison=True)(asked)
    return select(_brief.c.rowid.label("id")).where(holds).limit(literal_column(str(most)))


def ranked(candidates: FromClause, dialect: str, *, synonyms: bool) -> Select[tuple[int, int, int]]:
    """Candidates (`id`, `upvotes`), which all match, with their `rank`, higher for better.

    Here and below `synonyms` says that the query has some, and so a value for TYPED.
    """
    query: Any = select(candidates.c.id, candidates.c.upvotes)
    if dialect == "postgresql":
        entry = looked_up(_ranked_entry(candidates.c.id, dialect, synonyms=synonyms, matches=True))
        return query.join(entry, true()).add_columns(entry.c.rank)  # type: ignore[no-any-return]

    # A search for each tier, and for all candidates: for few candidates that costs less than reading each text.
    def is_found(tier: Tier) -> ColumnElement[bool]:
        return candidates.c.id.in_(select(_index.c.rowid).where(_holds(tier, dialect)).correlate(None))

    return query.add_columns(_rank(is_found, synonyms))  # type: ignore[no-any-return]


def with_rank(projects: AnySelect, project_id: ColumnElement[int], dialect: str, *, synonyms: bool) -> AnySelect:
    """The projects of a query that match, with their `rank`; each is tested by itself, as by `found`."""
    if dialect == "sqlite":
        rank = _rank(lambda tier: _reaches(tier, dialect), synonyms)
        one = unindexed(project_id, dialect)  # so that SQLite does not begin with the entries
        return projects.join(_index, _key(dialect) == one).where(_reaches(TIERS[-1], dialect)).add_columns(rank)
    entry = looked_up(_ranked_entry(project_id, dialect, synonyms=synonyms))
    return projects.join(entry, true()).add_columns(entry.c.rank)


def looked_up(row: AnySelect) -> LateralFromClause:
    """The table of the rows that PostgreSQL looks up one by one, for each row of the tables that `row` refers to.

    As a plain join it might read a whole table, with texts of hundreds of megabytes, for a few thousand rows. The
    offset prevents that.
    """
    return row.offset(literal_column("0")).lateral("looked_up")


def rank_of(project_id: ColumnElement[int], dialect: str, *, synonyms: bool) -> ColumnElement[int]:
    """The rank of one project, null if it does not match."""
    return _ranked_entry(project_id, dialect, synonyms=synonyms).scalar_subquery()


def _ranked_entry(
    project_id: ColumnElement[int], dialect: str, *, synonyms: bool, matches: bool = False
) -> Select[tuple[int]]:
    """The rank of one project, no row if it does not match; `matches` says that it is known to match."""
    rank = _rank(lambda tier: _reaches(tier, dialect), synonyms)
    entry = select(rank).where(_key(dialect) == project_id)
    entry = entry if matches else entry.where(_reaches(TIERS[-1], dialect))
    return entry.correlate(project_id.table)


def _rank(reaches: Callable[[Tier], ColumnElement[bool]], synonyms: bool) -> ColumnElement[Any]:
    """The rank of matches, by the tier that they reach. Most reach the last tier alone, so it is tested early."""
    *whole, title, words, begun, brief, _ = TIERS
    ranks = {tier: rank for rank, tier in enumerate(reversed(TIERS))}
    first, others = ([(reaches(tier), ranks[tier]) for tier in tiers] for tiers in (whole, (title, words, begun)))
    last = case((reaches(TYPED), 0), else_=BY_SYNONYMS) if synonyms else 0
    return case(*first, (not_(reaches(brief)), last), *others, else_=1).label("rank")


def _key(dialect: str) -> ColumnElement[int]:
    return _index.c.project_id if dialect == "postgresql" else _index.c.rowid


def _holds(tier: Tier, dialect: str) -> ColumnElement[bool]:
    """The condition that a row of the index matches as well as `tier` says, for an index to find it."""
    asked: ColumnElement[Any] = bindparam(name(tier), type_=String)
    if dialect == "postgresql":
        return _index.c.document.op("@@", is_comparison=True)(cast(asked, TSQUERY))
    return _matches(asked)


def _matches(asked: ColumnElement[Any]) -> ColumnElement[bool]:
    """The condition that a row matches, for FTS5."""
    return literal_column("project_search").op("MATCH", is_comparison=True)(asked)


def _reaches(tier: Tier, dialect: str) -> ColumnElement[bool]:
    """The same condition of a row that is at hand."""
    if dialect == "postgresql":
        return _holds(tier, dialect)
    text: ColumnElement[str] = _BETWEEN
    for part in _PARTS[tier[0]]:
        text = text + _index.c[part] + _BETWEEN
    asked = bindparam(name(tier, SUBSTRINGS), type_=String)
    return func.has_words(text, asked, type_=Boolean)  # a function of ours, see directory.db.engine
