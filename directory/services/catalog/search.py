"""Full-text search by the database's own engine: FTS5 on SQLite, tsvector with GIN on PostgreSQL.

Both engines index the words that `words` makes, written as plain ASCII, so they need no language, collation or
extension, find the same projects, and no text of a user can be a syntax error. The best match has all words in its
title; then come those that have them as beginnings of words, in title, tagline and tags, and anywhere. Equal ones go
by votes. Unlike bm25 or ts_rank none of it depends on other projects, so a cursor stays valid while they change.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from sqlalchemy import CTE, BigInteger, ColumnElement, Integer, Select, column, select, text

from directory.db.transactions import on_postgresql
from directory.extensions import db
from directory.models import Project

MAX_WORDS = 16  # of a query; more narrow nothing down
MAX_WORD_LENGTH = 64
MIN_PREFIX_LENGTH = 3  # "go" means go, "dat" may become database

_WORD = re.compile(r"[^\W_]+")
# Scripts written without spaces: each character is a word.
_UNSPACED = re.compile(r"[\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")

_UPSERT = {
    True: text(
        "INSERT INTO project_search (project_id, document) VALUES (:id, CAST(:document AS tsvector)) "
        "ON CONFLICT (project_id) DO UPDATE SET document = excluded.document"
    ),
    False: text(
        "INSERT OR REPLACE INTO project_search (rowid, title, brief, description) "
        "VALUES (:id, :title, :brief, :description)"
    ),
}


def words(value: str) -> list[str]:
    """The words of a text as ASCII: case, accents and width folded; other scripts as x and their UTF-8 in hex."""
    if not value.isascii():
        spread = _UNSPACED.sub(r" \g<0> ", unicodedata.normalize("NFKD", value.casefold()))
        value = "".join(c for c in spread if not unicodedata.combining(c))
    return [_ascii(word[:MAX_WORD_LENGTH]) for word in _WORD.findall(value.lower())]


def _ascii(word: str) -> str:
    return word if word.isascii() else "x" + word.encode().hex()


def index(projects: Iterable[Any]) -> None:
    """Make projects (anything with their text fields) findable by their present text, in this transaction."""
    fill(db.session, projects, postgresql=on_postgresql())


def fill(by: Any, projects: Iterable[Any], *, postgresql: bool) -> None:
    """The same by any session or connection; the migrations have one of their own."""
    rows = [{"id": p.id, **(_vector(p) if postgresql else _columns(p))} for p in projects]
    if rows:
        by.execute(_UPSERT[postgresql], rows)


def forget(project_id: int) -> None:
    """Take a project out of the index. On PostgreSQL the row goes with the project's.

    A trigger could do it on SQLite, but only where the schema is trusted to run virtual tables, which we do not.
    """
    if not on_postgresql():
        db.session.execute(text("DELETE FROM project_search WHERE rowid = :id"), {"id": project_id})


def _parts(project: Any) -> tuple[list[str], list[str], list[str]]:
    brief = f"{project.tagline} {' '.join(project.tags)}"
    return words(project.title), words(brief), words(project.description)


def _columns(project: Any) -> dict[str, str]:
    title, brief, description = (" ".join(part) for part in _parts(project))
    return {"title": title, "brief": brief, "description": description}


def _vector(project: Any) -> dict[str, str]:
    """A tsvector's text. Positions only carry the weights: 1A the title, 2B tagline and tags, 3 the description."""
    marks: dict[str, list[str]] = {}
    for mark, part in zip(("1A", "2B", "3"), _parts(project), strict=True):
        for word in dict.fromkeys(part):
            marks.setdefault(word, []).append(mark)
    return {"document": " ".join(f"'{word}':{','.join(found)}" for word, found in marks.items())}


# How well a project matches, from best to worst: where all words are, and whether as whole words.
TIERS = (("title", "words"), ("title", "beginnings"), ("brief", "beginnings"), ("anywhere", "beginnings"))
_IDS = {
    "postgresql": "SELECT project_id AS id FROM project_search WHERE document @@ CAST(:{name} AS tsquery)",
    "sqlite": "SELECT rowid AS id FROM project_search WHERE project_search MATCH :{name}",
}
_MATCHES = {
    "postgresql": "SELECT project_id, {rank} AS rank FROM project_search WHERE document @@ CAST(:{name} AS tsquery)",
    "sqlite": "SELECT rowid AS project_id, {rank} AS rank FROM project_search WHERE project_search MATCH :{name}",
}
# Of a row that is at hand PostgreSQL can tell how well it matches; to SQLite each is a search of its own.
_IS = {
    "postgresql": "document @@ CAST(:{name} AS tsquery)",
    "sqlite": "rowid IN (SELECT rowid FROM project_search WHERE project_search MATCH :{name})",
}
_WEIGHTS = {"title": "A", "brief": "AB", "anywhere": ""}
_SCOPES = {"title": "{title} : ", "brief": "{title brief} : ", "anywhere": ""}


def found(dialect: str) -> ColumnElement[bool]:
    """The condition that a project matches; its values are `expressions`.

    The database may look at any number of projects in another order until it has found enough that do: right for
    words that many have, and fatal for those that few do, which it cannot always tell.
    """
    project_id: ColumnElement[int] = Project.__table__.c.id
    return project_id.in_(ids(dialect))


def ids(dialect: str) -> Select[tuple[int]]:
    """The ids of the projects that match; its values are `expressions`."""
    rows = text(_IDS[dialect].format(name=_name(TIERS[-1]))).columns(column("id", BigInteger))
    return select(rows.subquery("matching").c.id)


def matches(dialect: str) -> CTE:
    """All projects that match, as `project_id` and `rank`, higher for better; its values are `expressions`."""
    return _ALL[dialect]


def _gathered(dialect: str) -> CTE:
    better = (
        f"WHEN {_IS[dialect].format(name=_name(tier))} THEN {len(TIERS) - n}" for n, tier in enumerate(TIERS[:-1])
    )
    rank = f"CASE {' '.join(better)} ELSE 1 END"
    found = text(_MATCHES[dialect].format(rank=rank, name=_name(TIERS[-1])))
    rows = found.columns(column("project_id", BigInteger), column("rank", Integer)).cte("matches")
    # Else PostgreSQL may make of it what `found` is, and SQLite one search for each project of the list.
    return rows.prefix_with("MATERIALIZED")


def expressions(query: str, dialect: str) -> dict[str, str] | None:
    """The query in the engine's own language, once for each tier; None where it has no word."""
    asked = list(dict.fromkeys(words(query)))[:MAX_WORDS]
    write = {"postgresql": _tsquery, "sqlite": _match}[dialect]
    return {_name(tier): write(asked, *tier) for tier in TIERS} if asked else None


def _name(tier: tuple[str, str]) -> str:
    return "q_" + "_".join(tier)


def _starts(word: str, how: str) -> bool:
    return how == "beginnings" and len(word) >= MIN_PREFIX_LENGTH


def _tsquery(asked: list[str], where: str, how: str) -> str:
    marks = (("*" if _starts(word, how) else "") + _WEIGHTS[where] for word in asked)
    return " & ".join(f"'{word}'" + (f":{mark}" if mark else "") for word, mark in zip(asked, marks, strict=True))


def _match(asked: list[str], where: str, how: str) -> str:
    terms = (f'"{word}"' + ("*" if _starts(word, how) else "") for word in asked)
    return f"{_SCOPES[where]}({' AND '.join(terms)})"


# One for each: a statement that names two of them is none.
_ALL = {dialect: _gathered(dialect) for dialect in _MATCHES}
