"""Ten fields of the operator's own, with values of every project: the same directory once more, filled."""

import json
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from bench.filling import flask, on_postgresql
from bench.load import CHOICES
from tests.support import servers

FIRST = date(2020, 1, 1)


def _field(name: str, kind: str, words: tuple[str, ...] = (), **others: bool) -> dict[str, Any]:
    choices = {"choices": [{"value": word, "label": word.title()} for word in words]} if words else {}
    return {"name": name, "label": name.title(), "kind": kind, **choices, **others}


# Facets count the first five; lists are narrowed by the first seven.
DEFINED = [
    _field("license", "choice", CHOICES, facet=True, in_list=True),
    _field("maturity", "choice", CHOICES, facet=True),
    _field("platforms", "choices", CHOICES, facet=True, in_list=True),
    _field("languages", "choices", CHOICES, facet=True),
    _field("free", "truth", facet=True),
    _field("price", "number", facet=True), _field("since", "date", facet=True),
    _field("rating", "number"), _field("team", "text"), _field("docs", "url"),
]  # fmt: skip


def values(number: int) -> dict[str, Any]:
    """The values of a project with this id; half of all projects have the first choice."""

    def word(of: int) -> str:
        return (*CHOICES, *CHOICES[:1] * len(CHOICES))[of % (2 * len(CHOICES))]

    return {
        "license": word(number), "maturity": word(number // 5),
        **{name: [each for each in CHOICES if each in {word(number // by), word(number // by // 9)}]
           for name, by in (("platforms", 3), ("languages", 7))},
        "free": number % 3 > 0, "price": number % 1000, "since": (FIRST + timedelta(number % 2000)).isoformat(),
        "rating": number % 11, "team": f"Team {number % 500}", "docs": f"https://docs.example/{number}",
    }  # fmt: skip


def filled(directory: Any, postgres: Any) -> Any:
    """A copy of a directory, with the fields."""
    url = _copy(make_url(directory.environment["DATABASE_URL"]), postgres)
    environment = {**directory.environment, "DATABASE_URL": url}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(DEFINED, file)
        file.flush()
        flask(environment, "fields", "import", file.name)
    fill(url)
    return replace(directory, environment=environment)


def fill(url: str) -> None:
    """Give all projects their values."""
    engine = create_engine(url)
    with engine.begin() as connection:
        ids = connection.scalars(text("SELECT id FROM projects ORDER BY id")).all()
    given = "CAST(:fields AS jsonb)" if engine.dialect.name == "postgresql" else ":fields"
    for rows in _rows(ids):  # each change of a counter in one transaction of PostgreSQL reads those before
        with engine.begin() as connection:
            connection.execute(text(f"UPDATE projects SET fields = {given} WHERE id = :id"), rows)
    engine.dispose()
    # The first makes the table small again, and the second lets an index alone be read, as autovacuum does in time.
    on_postgresql(url, "VACUUM FULL projects", "VACUUM ANALYZE projects", "VACUUM ANALYZE project_fields", "CHECKPOINT")


def _rows(ids: Any) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(ids), 1_000):
        yield [{"id": each, "fields": json.dumps(values(each))} for each in ids[start : start + 1_000]]


def _copy(url: Any, postgres: Any) -> str:
    name = f"{url.database.removesuffix('.db')}_fields"
    if postgres is not None:
        return servers.create_database(postgres.url, name, template=url.database)
    name += ".db"
    with sqlite3.connect(url.database) as source, sqlite3.connect(name) as target:
        source.backup(target)
        target.execute("ANALYZE")
    return str(url.set(database=name))
