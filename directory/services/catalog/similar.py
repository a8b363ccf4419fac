"""Finds existing projects: those of the same URL, and live ones with a similar title.

The words of a title are looked up in the search index, at most COMMON live projects for each. A more common word does
not distinguish projects, so its matches count only if they match all words or the whole title.
"""

from functools import cache
from typing import Any

from sqlalchemy import Integer, bindparam, literal, literal_column, select, text, union_all

from directory.db.statements import Prepared
from directory.extensions import db
from directory.models import Project, Status, Upvote
from directory.services.accounts.identity import Caller
from directory.services.catalog.search_words import whole, words
from directory.services.links import url_key

COMMON = 100  # projects; a word that more of them have is common
MOST_WORDS = 8  # the longest words of a title that are looked up
MOST_SAME, MOST_SIMILAR = 20, 5
LITTLE_WORDS = frozenset(
    ["a", "an", "and", "by", "for", "from", "in", "my", "of", "on", "or", "our", "the", "to", "with", "your"]
)
NAMES = ("id", "slug", "title", "tagline", "status", "upvotes", "has_upvoted")

projects = Project.__table__
P = projects.c
# Not EXISTS: for that PostgreSQL makes two plans and may read all votes of the caller.
_VOTE = select(literal_column("1", Integer)).where(Upvote.user_id == bindparam("user_id"), Upvote.project_id == P.id)
_VOTED = _VOTE.scalar_subquery().is_not(None).label("has_upvoted")
_COLUMNS = (*(P[name] for name in NAMES[:-1]), _VOTED, P.owner_id)


def check(url: str | None, title: str | None, *, by: Caller) -> dict[str, list[dict[str, Any]]]:
    """The projects of the `same` URL, live or the caller's, and live `similar` ones by title; the caller's own first.

    The answer does not depend on other users' projects that are not live.
    """
    same = [] if url is None else _same(url_key(url), by)
    similar = [] if title is None else _similar(title, by, {row[0] for row in same})
    return {"same": [_item(row) for row in same], "similar": [_item(row) for row in similar]}


def _same(key: str, by: Caller) -> list[Any]:
    rows = _same_url().all({"key": key, "user_id": by.id})
    return sorted(rows, key=lambda row: (row[-1] != by.id, -row[5], row[0]))


def _similar(title: str, by: Caller, others: set[int]) -> list[Any]:
    terms = _terms(title)
    if not terms:
        return []
    dialect = db.engine.dialect.name
    given = {f"term_{n}": _written(term, dialect) for n, term in enumerate(terms)} | {"user_id": by.id}
    found = {row[0]: row for row in _having(len(terms), dialect).all(given) if row[0] not in others}
    asked = _telling(title)
    ranks = {row[0]: _likeness(asked, _telling(row[2])) for row in found.values()}
    alike = [row for row in found.values() if ranks[row[0]]]
    alike.sort(key=lambda row: (row[-1] != by.id, -ranks[row[0]], -row[5], row[0]))
    return alike[:MOST_SIMILAR]


def _item(row: Any) -> dict[str, Any]:
    item = dict(zip(NAMES, row, strict=False))
    return {**item, "has_upvoted": bool(item["has_upvoted"])}  # SQLite has no booleans


def _telling(title: str) -> set[str]:
    """The words by which titles are compared: without the little ones, if there are others."""
    found = {*words(title)}
    return found - LITTLE_WORDS or found


def _likeness(one: set[str], other: set[str]) -> float:
    """The share of the words that two titles have in common (Dice), from 0 to 1."""
    return 2 * len(one & other) / (len(one) + len(other)) if other else 0.0


def _terms(title: str) -> list[list[str]]:
    """The searches, each a list of required words: the whole title, all words, and each word."""
    key = whole(title)
    if key is None:
        return []
    telling = sorted(_telling(title), key=lambda word: (-len(word), word))[:MOST_WORDS]
    return [[key], telling, *([word] for word in telling)]


def _written(term: list[str], dialect: str) -> str:
    """A query for all of these words in the engine's language."""
    return " & ".join(f"'{word}'" for word in term) if dialect == "postgresql" else " AND ".join(f'"{w}"' for w in term)


@cache
def _same_url() -> Prepared:
    own = select(*_COLUMNS).where(P.owner_id == bindparam("user_id"), P.url_key == bindparam("key"))
    live = select(*_COLUMNS).where(P.url_key == bindparam("key"), P.status == literal("live"))
    others = live.where(P.owner_id != bindparam("user_id")).order_by(P.upvotes.desc(), P.id).limit(MOST_SAME)
    return Prepared(select(union_all(own, select(others.subquery("others"))).subquery("same")))


_SOUGHT = {
    "postgresql": "SELECT project_id AS id FROM project_search WHERE live AND document @@ CAST(:term_{n} AS tsquery)",
    # CROSS JOIN makes SQLite look up the words first.
    "sqlite": (
        "SELECT project_id AS id FROM project_search CROSS JOIN standings ON project_id = project_search.rowid "
        "WHERE project_search MATCH :term_{n} AND status = 'live'"
    ),
}


@cache
def _having(terms: int, dialect: str) -> Prepared:
    """The live projects that match one of the terms. A term after the first two, a single word, must not be common.

    It is planned for its values, because the best plan depends on the number of projects with a word.
    """
    sought = (
        f"SELECT {n} AS n, id FROM ({_SOUGHT[dialect].format(n=n)} LIMIT {COMMON}) AS found_{n}"  # noqa: S608 (ours)
        for n in range(terms)
    )
    voted = "(SELECT 1 FROM upvotes WHERE user_id = :user_id AND project_id = projects.id) IS NOT NULL"
    columns = ", ".join(voted if column is _VOTED else f"projects.{column.name}" for column in _COLUMNS)
    return Prepared(
        text(
            f"SELECT {columns} FROM (SELECT DISTINCT id FROM (SELECT n, id, count(*) OVER (PARTITION BY n) AS number "  # noqa: S608
            f"FROM ({' UNION ALL '.join(sought)}) AS candidates) AS counted WHERE n < 2 OR number < {COMMON}) AS found "
            f"JOIN projects ON projects.id = found.id WHERE projects.status = '{Status.LIVE}'"
        ),
        replan=True,
    )
