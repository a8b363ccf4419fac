"""Full-text search: a query in the engines' languages, which projects match it, and how well.

The rank of a match has six steps, see TIERS; equal ones go by votes. Unlike bm25 or ts_rank none of it depends on other
projects, so a cursor stays valid while they change.
"""

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    String,
    UnaryExpression,
    bindparam,
    case,
    cast,
    column,
    literal_column,
    select,
)
from sqlalchemy import table as named
from sqlalchemy.dialects.postgresql import TSQUERY
from sqlalchemy.sql.operators import custom_op

from directory.services.catalog.search_words import (
    MAX_WORDS,
    Unit,
    ascii_form,
    is_beginning,
    singulars,
    units,
    whole,
)

# More matches than these are not counted, and best match looks at as many: those with the most votes.
MOST = 10_000

# Where a project has all words, and how, from the best match to the worst.
TIERS = (
    ("title", "whole"),
    ("title", "words"),
    ("brief", "words"),
    ("title", "beginnings"),
    ("brief", "beginnings"),
    ("anywhere", "beginnings"),
)
Tier = tuple[str, str]
_WEIGHTS = {"title": "A", "brief": "AB", "anywhere": ""}
_SCOPES = {"title": "{title} : ", "brief": "{title brief} : ", "anywhere": ""}

_index = named("project_search", column("project_id", BigInteger), column("rowid", BigInteger), column("document"))


def matching(dialect: str) -> Select[tuple[int]]:
    """The ids of the projects that match; its values are `expressions`."""
    query: Any = select(_key(dialect).label("id")).where(_holds(TIERS[-1], dialect))
    return query.correlate(None)  # type: ignore[no-any-return]


def found(project_id: ColumnElement[int], dialect: str) -> ColumnElement[bool]:
    """The condition that a project matches; its values are `expressions`.

    The database may look at any number of projects in another order until it has found enough that do: right for
    words that many have, and fatal for those that few do, which it cannot always tell.
    """
    # The plus keeps SQLite from starting with the matches, all of which it would have to sort.
    looked_at = UnaryExpression(project_id, operator=custom_op("+")) if dialect == "sqlite" else project_id
    return looked_at.in_(matching(dialect))


def holds(project_id: ColumnElement[int], dialect: str) -> ColumnElement[bool]:
    """The same condition, looked up for each project by itself: right for the few of a list that is short."""
    found: Any = select(literal_column("1")).select_from(_index).where(_key(dialect) == project_id)
    found = found.where(_holds(TIERS[-1], dialect))
    return found.correlate(project_id.table).exists()  # type: ignore[no-any-return]


def ranked(candidates: FromClause, dialect: str) -> Select[tuple[int, int, int]]:
    """Of candidates (`id`, `upvotes`) that all match also the `rank`, higher for better."""
    better = [(_reaches(candidates.c.id, tier, dialect), len(TIERS) - n) for n, tier in enumerate(TIERS[:-1], 1)]
    rank = case(*better, else_=0).label("rank")
    query: Any = select(candidates.c.id, candidates.c.upvotes, rank)
    if dialect == "postgresql":
        query = query.join(_index, _index.c.project_id == candidates.c.id)
    return query  # type: ignore[no-any-return]


def expressions(query: str, dialect: str) -> dict[str, str] | None:
    """The query in the engine's own language, once for each tier; None where it has no word."""
    asked = list(dict.fromkeys(units(query)))
    sizes = accumulate(len(unit.parts) for unit in asked)
    asked = [unit for unit, size in zip(asked, sizes, strict=True) if size <= MAX_WORDS] or asked[:1]
    key = whole(query)
    if not asked or key is None:
        return None
    language = _LANGUAGES[dialect]
    written = {_name(tier): language.all_of(asked, tier) for tier in TIERS[1:]}
    return {_name(TIERS[0]): language.word(key, TIERS[0], as_beginning=False), **written}


class _Language:
    """How an engine writes a query."""

    AND = " & "
    OR = " | "

    def all_of(self, asked: Iterable[Unit], tier: Tier) -> str:
        """All units of a query."""
        return self.AND.join(self._unit(unit, tier) for unit in asked)

    def word(self, word: str, tier: Tier, *, as_beginning: bool) -> str:
        """One word, whole or as a beginning, where the tier looks for it."""
        weights = ("*" if as_beginning else "") + _WEIGHTS[tier[0]]
        return f"'{ascii_form(word)}'" + (f":{weights}" if weights else "")

    def _unit(self, unit: Unit, tier: Tier) -> str:
        """A unit: as one word or as its parts, whichever a project spells."""
        parts = self.AND.join(self._forms(part, tier) for part in unit.parts)
        return f"({self._forms(unit.joined, tier)}{self.OR}({parts}))" if unit.is_joined else parts

    def _forms(self, word: str, tier: Tier) -> str:
        """A word or what it is the plural of."""
        forms = [word, *singulars(word)]
        starts = tier[1] == "beginnings" and is_beginning(word)
        if starts:  # what begins with `games` begins with `game` too
            forms = [form for form in forms if not any(form != other and form.startswith(other) for other in forms)]
        return f"({self.OR.join(self.word(form, tier, as_beginning=starts) for form in forms)})"


class _Fts5(_Language):
    AND = " AND "
    OR = " OR "

    def all_of(self, asked: Iterable[Unit], tier: Tier) -> str:
        return f"{_SCOPES[tier[0]]}({super().all_of(asked, tier)})"

    def word(self, word: str, tier: Tier, *, as_beginning: bool) -> str:
        return f'"{ascii_form(word)}"' + ("*" if as_beginning else "")


_LANGUAGES = {"postgresql": _Language(), "sqlite": _Fts5()}


def _key(dialect: str) -> ColumnElement[int]:
    return _index.c.project_id if dialect == "postgresql" else _index.c.rowid


def _holds(tier: Tier, dialect: str) -> ColumnElement[bool]:
    """The condition that a row of the index matches as well as `tier` says."""
    asked: ColumnElement[Any] = bindparam(_name(tier), type_=String)
    if dialect == "postgresql":
        return _index.c.document.op("@@", is_comparison=True)(cast(asked, TSQUERY))
    return literal_column("project_search").op("MATCH", is_comparison=True)(asked)


def _reaches(project_id: ColumnElement[int], tier: Tier, dialect: str) -> ColumnElement[bool]:
    """The condition that a candidate does: PostgreSQL looks at its row, for SQLite that is a search for each row."""
    holds = _holds(tier, dialect)
    if dialect == "postgresql":
        return holds
    return project_id.in_(select(_index.c.rowid).where(holds).correlate(None))


def _name(tier: Tier) -> str:
    return "q_" + "_".join(tier)
