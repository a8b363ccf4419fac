"""The search index: the texts of a project that are indexed, by FTS5 on SQLite and tsvector with GIN on PostgreSQL.

It holds the words of `search_words` in three parts: the title; the tagline, the tags, the author and own fields that
are searched; and the description. Both databases have their places, which are the same, so that a query can ask for
neighbours. For title and tagline the index also holds the words by which a query finds two or three words that it
spells as one. Next to the title are words for the title as a whole, for its spelling, and for the addresses; the
domains of the URL are with the tags.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import column, delete, table, text

from directory.db.paging import AnySelect
from directory.db.statements import Prepared
from directory.db.transactions import on_postgresql
from directory.extensions import db
from directory.services.catalog import own_fields
from directory.services.catalog.own_fields import Definitions
from directory.services.catalog.search_words import (
    BREAK,
    addressed,
    domain_words,
    indexed_words,
    joined_words,
    readable_host,
    spelled,
    whole,
)
from directory.services.text.equal_addresses import url_key

_TABLES = ("project_search", "project_search_brief")  # SQLite's, PostgreSQL has the first one alone
_UPSERT = Prepared(
    text(
        "INSERT INTO project_search (project_id, document) VALUES (:id, CAST(:document AS tsvector)) "
        "ON CONFLICT (project_id) DO UPDATE SET document = excluded.document"
    )
)
# The second table finds quickly the few that match better than by their description, which the first finds among all.
_REPLACE = Prepared(
    text(
        "INSERT OR REPLACE INTO project_search (rowid, title, brief, description) "
        "VALUES (:id, :title, :brief, :description)"
    )
)
_REPLACE_BRIEF = Prepared(
    text("INSERT OR REPLACE INTO project_search_brief (rowid, title, brief) VALUES (:id, :title, :brief)")
)


def index(projects: Iterable[Any], defined: Definitions | None = None) -> None:
    """Index the present text of projects (any objects with their text fields), in this transaction.

    `defined` are the own fields, where they have changed in this transaction.
    """
    texts, entry = [*projects], vector if on_postgresql() else columns
    if defined is None:
        defined = own_fields.present() if any(p.fields for p in texts) else own_fields.NONE
    rows = [{"id": p.id, **entry(p, defined)} for p in texts]
    for statement in (_UPSERT,) if entry is vector else (_REPLACE, _REPLACE_BRIEF):
        if len(rows) == 1:
            statement.later(rows[0])
        elif rows:
            db.session.execute(statement.statement, rows)


def forget(*project_ids: int) -> None:
    """Remove projects, at least one, from the index. On PostgreSQL the row is deleted with the project's.

    On SQLite a trigger could do it only if the schema were trusted, because it would use virtual tables.
    """
    if not on_postgresql():
        rows = [{"id": project_id} for project_id in project_ids]
        for name in _TABLES:
            db.session.execute(text(f"DELETE FROM {name} WHERE rowid = :id"), rows)  # noqa: S608


def forget_among(project_ids: AnySelect) -> None:
    """Remove the projects with the ids of a query from the index, until they are indexed again."""
    key, names = ("project_id", _TABLES[:1]) if on_postgresql() else ("rowid", _TABLES)
    for name in names:
        key_column: Any = column(key)
        db.session.execute(delete(table(name, key_column)).where(key_column.in_(project_ids)))


def columns(project: Any, defined: Definitions = own_fields.NONE) -> dict[str, str]:
    """A project as the columns of the FTS5 table."""
    title, brief, description = (" ".join(part) for part in _parts(project, defined))
    return {"title": title, "brief": brief, "description": description}


def vector(project: Any, defined: Definitions = own_fields.NONE) -> dict[str, str]:
    """A project as the text of a tsvector: each word with its places, and their weights: A title, B brief."""
    places: dict[str, list[str]] = {}
    place = 0
    for weight, part in zip(("A", "B", ""), _parts(project, defined), strict=True):
        for word in part:
            place += 1
            if word != BREAK:
                places.setdefault(word, []).append(f"{place}{weight}")
        place += 1
    return {"document": " ".join(f"'{word}':{','.join(positions)}" for word, positions in places.items())}


def _parts(project: Any, defined: Definitions) -> tuple[list[str], list[str], list[str]]:
    title, tagline = project.title, project.tagline
    own = own_fields.searched(project.fields, defined, project.category_id) if defined else []
    short = (tagline, *project.tags, *([project.author] if project.author else []), *own)
    brief = [*indexed_words(*short), *joined_words(tagline), *domain_words(_host(project.url))]
    return (
        [*indexed_words(title), *joined_words(title), *_keys(project)],
        brief,
        indexed_words(project.description),
    )


def _keys(project: Any) -> list[str]:
    """The words that find a project by its whole title, by the title's spelling, and by its addresses."""
    key = whole(project.title)
    titled = [] if key is None else [key, spelled(project.title)]
    return [*titled, *dict.fromkeys(filter(None, map(_addressed, (project.url, project.repository_url))))]


def _addressed(url: str | None) -> str | None:
    try:
        return None if url is None else addressed(url_key(url))
    except ValueError:  # of an older version's rules
        return None


def _host(url: str) -> str:
    """The host as people read it; empty for a URL of an older version's rules that has none."""
    try:
        return readable_host(urlsplit(url).hostname or "")
    except ValueError:
        return ""
