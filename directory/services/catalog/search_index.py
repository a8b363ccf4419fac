"""The search index: the texts of a project that are indexed, by FTS5 on SQLite and tsvector with GIN on PostgreSQL.

It holds the words of `search_words` in three parts: the title (with one word more, for the title as a whole), tagline
and tags, and the description. For title and tagline it also holds the words by which a query finds two or three words
that it spells as one. The domains of the URL are beside the tags.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import text

from directory.db.transactions import on_postgresql
from directory.extensions import db
from directory.services.catalog.search_words import domain_words, joined_words, readable_host, whole, words

_UPSERT = (
    "INSERT INTO project_search (project_id, document) VALUES (:id, CAST(:document AS tsvector)) "
    "ON CONFLICT (project_id) DO UPDATE SET document = excluded.document"
)
# The second table finds quickly the few that match better than by their description, which the first finds among all.
_REPLACE = (
    "INSERT OR REPLACE INTO project_search (rowid, title, brief, description) "
    "VALUES (:id, :title, :brief, :description)"
)
_REPLACE_BRIEF = "INSERT OR REPLACE INTO project_search_brief (rowid, title, brief) VALUES (:id, :title, :brief)"


def index(projects: Iterable[Any]) -> None:
    """Index the present text of projects (any objects with their text fields), in this transaction."""
    postgresql = on_postgresql()
    rows = [{"id": p.id, **(vector(p) if postgresql else columns(p))} for p in projects]
    for statement in ((_UPSERT,) if postgresql else (_REPLACE, _REPLACE_BRIEF)) if rows else ():
        db.session.execute(text(statement), rows)


def forget(*project_ids: int) -> None:
    """Remove projects, at least one, from the index. On PostgreSQL the row is deleted with the project's.

    On SQLite a trigger could do it only if the schema were trusted, because it would use virtual tables.
    """
    if not on_postgresql():
        rows = [{"id": project_id} for project_id in project_ids]
        for name in ("project_search", "project_search_brief"):
            db.session.execute(text(f"DELETE FROM {name} WHERE rowid = :id"), rows)  # noqa: S608


def columns(project: Any) -> dict[str, str]:
    """A project as the columns of the FTS5 table."""
    title, brief, description = (" ".join(part) for part in _parts(project))
    return {"title": title, "brief": brief, "description": description}


def vector(project: Any) -> dict[str, str]:
    """A project as the text of a tsvector, whose positions only carry weights: 1A title, 2B brief, 3 description."""
    weights: dict[str, list[str]] = {}
    for weight, part in zip(("1A", "2B", "3"), _parts(project), strict=True):
        for word in dict.fromkeys(part):
            weights.setdefault(word, []).append(weight)
    return {"document": " ".join(f"'{word}':{','.join(found)}" for word, found in weights.items())}


def _parts(project: Any) -> tuple[list[str], list[str], list[str]]:
    key = whole(project.title)
    title = [*words(project.title), *joined_words(project.title), *([key] if key else ())]
    tagline = [*words(project.tagline), *joined_words(project.tagline)]
    brief = [*tagline, *words(" ".join(project.tags)), *domain_words(_host(project.url))]
    return title, brief, words(project.description)


def _host(url: str) -> str:
    """The host as people read it; empty for a URL of an older version's rules that has none."""
    try:
        return readable_host(urlsplit(url).hostname or "")
    except ValueError:
        return ""
