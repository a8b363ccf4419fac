"""Finds existing projects: those of the same URL, and live ones with a similar title.

The words of a title are looked up in the search index, at most COMMON live projects for each. A more common word does
not distinguish projects, so its matches count only if they have another word that does, or all of them.
"""

import json
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import any_, bindparam, cast, literal_column, select, text, union_all

from directory.db.statements import Prepared, among
from directory.extensions import db
from directory.models import Project, Upvote
from directory.services import permissions
from directory.services.catalog.little_words import listed, without
from directory.services.catalog.search_words import whole, words
from directory.services.identity import Caller
from directory.services.text.equal_addresses import url_key

COMMON = 100  # projects; a word that more of them have is common
MOST_WORDS = 8  # the longest words of a title that are looked up
MOST_SAME, MOST_SIMILAR = 20, 5

P = Project.__table__.c


class _Row(NamedTuple):
    """A project that is found: by a word of its title, by its URL, or by its repository."""

    id: int
    slug: str
    title: str
    tagline: str
    status: str
    upvotes: int
    has_upvoted: bool
    owner_id: int
    created_at: datetime
    found_by: int


BY_TITLE, BY_URL, BY_REPOSITORY = range(3)


def check(
    url: str | None, title: str | None, repository_url: str | None = None, *, by: Caller
) -> dict[str, list[dict[str, Any]]]:
    """The projects of the `same` URL, live or the caller's, and live `similar` ones by title; the caller's own first.

    Others whose repository is this website or repository, or whose website is this repository, are in
    `same_repository`, if there are any. The answer does not depend on other users' projects that are not live.
    """
    key, repository = (None if address is None else url_key(address) for address in (url, repository_url))
    ids = set() if title is None else _candidates(title)
    if key is None and repository is None and not ids:
        return {"same": [], "similar": []}
    values = {"key": key, "repository": repository, "ids": [*ids], "user_id": by.id}
    rows = [_Row._make(row) for row in _found(db.engine.dialect.name).all(values)]
    rows.sort(key=lambda row: (not permissions.owns(by, row.owner_id), -row.upvotes, row.id))
    same = {row.id: row for row in rows if row.found_by == BY_URL}
    sharing = {row.id: row for row in rows if row.found_by == BY_REPOSITORY and row.id not in same}
    others = [row for row in rows if row.id not in same.keys() | sharing.keys()]
    kinds = {"same": same.values(), "similar": _most_similar(title or "", others, by)}
    kinds |= {"same_repository": sharing.values()} if sharing else {}
    return {kind: [_item(row, by) for row in rows] for kind, rows in kinds.items()}


def _most_similar(title: str, rows: list[_Row], by: Caller) -> list[_Row]:
    asked = significant_words(title)
    ranked = [(rank, row) for row in rows if (rank := _likeness(asked, significant_words(row.title)))]
    ranked.sort(
        key=lambda scored: (not permissions.owns(by, scored[1].owner_id), -scored[0], -scored[1].upvotes, scored[1].id)
    )
    return [row for _, row in ranked[:MOST_SIMILAR]]


def _item(row: _Row, by: Caller) -> dict[str, Any]:
    item = row._asdict()
    del item["found_by"]
    if item.pop("owner_id") != by.id:
        del item["created_at"]
    return item


def significant_words(title: str) -> set[str]:
    """The words by which titles are compared: without the little ones, if there are others."""
    return {*words(" ".join(without(title.split())))} - listed() or {*words(title)}


def _likeness(one: set[str], other: set[str]) -> float:
    """The share of the words that two titles have in common (Dice), from 0 to 1."""
    return 2 * len(one & other) / (len(one) + len(other)) if other else 0.0


def _written(term: list[str], dialect: str) -> str:
    """A query for all of these words in the engine's language."""
    return " & ".join(f"'{word}'" for word in term) if dialect == "postgresql" else " AND ".join(f'"{w}"' for w in term)


@cache
def _found(dialect: str) -> Prepared:
    """The projects of a URL, and of a repository, live or the caller's, and the live ones of the ids."""
    # Not EXISTS: for that PostgreSQL makes two plans and may read all votes of the caller.
    vote = select(literal_column("1", sa.Integer)).where(
        Upvote.user_id == bindparam("user_id"), Upvote.project_id == P.id
    )
    special = {"has_upvoted": vote.scalar_subquery().is_not(None)}

    def rows_by(by: int) -> Any:
        columns = {**special, "found_by": literal_column(str(by), sa.Integer)}
        return select(*((columns[name] if name in columns else P[name]).label(name) for name in _Row._fields))

    def of(by: int, column: Any, key: str) -> list[Any]:
        value = bindparam(key, type_=sa.String)
        own = rows_by(by).where(P.owner_id == bindparam("user_id"), column == value)
        live = rows_by(by).where(column == value, P.status == sa.literal("live"), P.owner_id != bindparam("user_id"))
        most = live.order_by(P.upvotes.desc(), P.id).limit(MOST_SAME)
        return [own, select(most.subquery())]

    parts = [
        *of(BY_URL, P.url_key, "key"),
        *of(BY_REPOSITORY, P.repository_key, "key"),
        *of(BY_REPOSITORY, P.repository_key, "repository"),
        *of(BY_REPOSITORY, P.url_key, "repository"),
    ]
    if dialect == "postgresql":
        # A subquery hides the number of the ids, for which PostgreSQL would plan the statement each time.
        ids = select(bindparam("ids", type_=sa.ARRAY(sa.BigInteger))).scalar_subquery()
        is_given = P.id == any_(cast(ids, sa.ARRAY(sa.BigInteger)))
    else:
        is_given = among(P.id, dialect)
    similar = rows_by(BY_TITLE).where(is_given, P.status == sa.literal("live"))
    return Prepared(select(union_all(*parts, similar).subquery()))


def _candidates(title: str) -> set[int]:
    """The ids of live projects with the title or with one of its words that is not common.

    If all of its words are common, those with all of them.
    """
    key = whole(title)
    if key is None:
        return set()
    significant = sorted(significant_words(title), key=lambda word: (-len(word), word))[:MOST_WORDS]
    same, *by_word = matches([[key], *([word] for word in significant)])
    distinctive = [ids for ids in by_word if len(ids) < COMMON]
    return same.union(*(distinctive or matches([significant])))


def matches(terms: list[list[str]]) -> list[set[int]]:
    """For each term, a list of required words, the ids of at most COMMON live projects that match it."""
    dialect = db.engine.dialect.name
    rows = _search(len(terms), dialect).all({f"term_{n}": _written(term, dialect) for n, term in enumerate(terms)})
    return [set(json.loads(ids or "[]")) for (ids,) in rows]


_ONE_TERM = {
    "postgresql": "SELECT project_id AS id FROM project_search WHERE live AND document @@ CAST(:term_{n} AS tsquery)",
    # CROSS JOIN makes SQLite look up the words first.
    "sqlite": (
        "SELECT project_id AS id FROM project_search CROSS JOIN standings ON project_id = project_search.rowid "
        "WHERE project_search MATCH :term_{n} AND status = 'live'"
    ),
}
_AS_JSON = {"postgresql": "CAST(json_agg(id) AS text)", "sqlite": "json_group_array(id)"}


@cache
def _search(terms: int, dialect: str) -> Prepared:
    """For each term the ids as JSON; null or an empty list if there is none.

    It is planned for its values, because the best plan depends on the number of projects with a word. Planning takes
    longer with each term, table and step, so it reads the search index alone.
    """
    searches = (
        f"SELECT {_AS_JSON[dialect]} FROM ({_ONE_TERM[dialect].format(n=n)} LIMIT {COMMON}) AS found_{n}"  # noqa: S608 (ours)
        for n in range(terms)
    )
    return Prepared(text(" UNION ALL ".join(searches)), replan=True)
