"""What the database reads for lists of projects with own fields, narrowed by them and not."""

import re
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text

from directory.extensions import db
from directory.services.catalog import facets, search
from tests.db.test_plans import app, many, migrated, plans  # noqa: F401 (fixtures)
from tests.extras.fields.test_fields import FIELDS, LICENSE, OTHERS, define
from tests.support.factories import World

NUMBER = {"name": "price", "label": "Price", "kind": "number", "facet": True}
VALUES = {
    "sqlite": "json_object('license', iif(id % 3, 'mit', 'gpl'), 'price', id % 500)",
    "postgresql": "jsonb_build_object('license', CASE WHEN id % 3 > 0 THEN 'mit' ELSE 'gpl' END, 'price', id % 500)",
}


def test_lists_read_values_along_and_are_narrowed_by_an_index(
    many: Flask,  # noqa: F811
    world: World,
    statements: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admin = world.caller(world.admin())
    before = _number(statements, admin, "/api/projects?limit=5")
    define(admin, {**LICENSE, "in_list": True}, {**NUMBER, "in_list": True}, OTHERS[0])
    with many.app_context():
        dialect = db.engine.dialect.name
        for part in range(50):  # each change of a row in one transaction of PostgreSQL reads those before
            with db.engine.begin() as connection:
                connection.execute(text(f"UPDATE projects SET fields = {VALUES[dialect]} WHERE id % 50 = {part}"))
        with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("ANALYZE" if dialect == "sqlite" else "VACUUM ANALYZE"))
    assert len(admin.get("/api/projects?limit=5").json["items"][0]["fields"]) == 2
    # No statement more than without fields, also for a page of the list.
    assert _number(statements, admin, "/api/projects?limit=5") == before
    for query in ("field.license=gpl", "field.price=7..9", "field.license=gpl&field.price=..400", "field.license=none"):
        for sort in ("newest", "upvotes", "popular"):
            pages = (
                each for each in plans(many, admin, f"/api/projects?{query}&sort={sort}") if each[:9] != "Aggregate"
            )
            for plan in pages:  # and not what counts them all
                # PostgreSQL reads the standings of so few projects whole where a join costs less so.
                assert not re.search(r"Seq Scan on (projects|project_fields)", plan), (query, sort, plan)
                assert not re.search(r"SCAN (projects|standings|project_fields)\b(?! USING)", plan), (query, sort, plan)
    # What a list of very many is narrowed to: each project is looked up, and not a range of values for each.
    monkeypatch.setattr(search, "MOST", 100)
    monkeypatch.setattr(facets.stored, "most", 0)
    if dialect == "postgresql":
        with many.app_context(), db.engine.begin() as connection:
            connection.execute(text("DELETE FROM pg_statistic WHERE starelid = 'project_fields'::regclass"))
    found = plans(many, admin, "/api/projects/facets?field.price=..400")
    [counted] = [plan for plan in found if "project_fields" in plan and "listed_at" in plan]
    assert "ix_project_fields_project_id" in counted
    assert "ix_project_fields_field_number" not in counted, counted
    for name in ("license", "price"):
        assert admin.get(f"{FIELDS}/{name}").json["projects"] > 0


def _number(statements: Any, caller: Any, path: str) -> int:
    caller.get(path)  # the definitions are read
    statements.clear()
    assert caller.get(path).status_code == 200
    return len(statements)
