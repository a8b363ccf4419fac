"""Nothing but the listed fields is writable: each column of each table is refused by name wherever it is sent."""

import pytest
from sqlalchemy import select

from directory.extensions import db
from directory.http.validation import JsonBody
from directory.services.catalog.fields import BODY
from tests.support.extras import rows
from tests.support.routes import ALL_ON, Targets, body, operation, unsafe

MORE = {
    "is_admin", "current", "has_upvoted", "owner", "actor", "stats", "pagination", "queue_position", "from", "to",
    "code", "current_status", "password_confirmation", "admin", "__class__", "_method", "user", "project", "upvoted",
}  # fmt: skip
NAMED = 50  # fields in a body; an answer names at most 100
VALUE = {"role": "admin", "status": "live", "is_admin": True}

# They need what a token and an invented body have not. The tests of passkeys, providers and mailed links have it.
LACKING = {
    "POST /api/auth/password/reset": 422,
    "POST /api/auth/email/verify": 422,
    **rows("lacking"),
}
LIVE = ("/unpublish", "/reports", "/pick")  # what is done to live projects alone
# What each route takes: of a project what its table of fields says, of all else written out here once more, so that a
# field that is added to a schema has to be added here too.
PROJECT = {field.name for field in BODY}
WRITABLE = {
    "POST /api/projects": PROJECT,
    "PUT /api/projects/<id:project_id>": PROJECT | {"give_back"},
    "POST /api/projects/<id:project_id>/messages": {"text", "resubmit"},
    "PUT /api/projects/<id:project_id>/messages/read": {"up_to"},
    "POST /api/auth/register": {"username", "email", "password"},
    "POST /api/auth/login": {"login", "password"},
    "POST /api/markdown": {"text"},
    "PUT /api/auth/me": {"username", "email", "password", "current_password", "revoke_tokens", "notify", "language"},
    "POST /api/auth/password/forgot": {"login"},
    "POST /api/auth/password/reset": {"token", "password", "revoke_tokens"},
    "POST /api/auth/email/verify": {"token"},
    "DELETE /api/auth/me": {"current_password"},
    "POST /api/auth/tokens": {"name", "expires_at"},
    **{
        f"PUT /api/{under}/projects/<id:project_id>/{decision}": {"reason"}
        for under in ("admin", "review")
        for decision in ("approve", "reject", "unpublish")
    },
    **{
        f"POST /api/{under}/projects/decisions": {"decision", "ids", "items", "reason", "message"}
        for under in ("admin", "review")
    },
    **{f"PUT /api/{under}/projects/<id:project_id>/request-changes": {"message"} for under in ("admin", "review")},
    "POST /api/review/projects/<id:project_id>/messages": {"text", "internal"},
    "PUT /api/admin/users/<id:user_id>": {"role", "review_categories", "status", "unpublish", "reason"},
    "DELETE /api/admin/users/<id:user_id>": {"reason"},
    "POST /api/admin/users/decisions": {"decision", "ids", "match", "unpublish", "reason"},
    "POST /api/admin/categories": {"slug", "name", "description"},
    "PUT /api/admin/categories/<slug:slug>": {"slug", "name", "description"},
    **rows("members"),
}


def columns():
    """The names of all columns of all tables."""
    return {column.name for table in db.metadata.tables.values() for column in table.columns}


def everything(app):
    """Every row of every table."""
    with app.app_context():
        tables = db.metadata.sorted_tables
        return {table.name: sorted(map(repr, db.session.execute(select(table)))) for table in tables}


@pytest.fixture
def app(make_app, monkeypatch):
    for name, value in rows("shortened").items():
        monkeypatch.setattr(name, value)
    return make_app(**ALL_ON)


@pytest.fixture
def root(world):
    return world.admin()


@pytest.fixture
def admin(world, root):
    return world.caller(root)


@pytest.fixture
def targets(world, root):
    """Threads are for their owners alone."""
    return Targets(world, root)


def test_the_fields_that_may_be_written_are_these_and_no_others(app):
    taken = {route.name: set(operation(app, route).body.schema.fields) for route in unsafe(app)}
    assert {name: fields for name, fields in taken.items() if fields} == WRITABLE


def test_each_column_of_each_table_is_refused_by_name_and_changes_nothing(app, admin, targets):
    wrong = []
    admin.get("/api/auth/me")  # records the token's use, once
    for route in unsafe(app):
        if not isinstance(operation(app, route).body, JsonBody):
            continue
        path, project_id = targets.path(route.rule, "pending")
        given = body(route, project_id) or {}
        before = everything(app)
        others = sorted((columns() | MORE | {"id", "version", "upvotes", "owner_id"}) - WRITABLE.get(route.name, set()))
        for some in (others[first : first + NAMED] for first in range(0, len(others), NAMED)):
            answer = admin.call(route.method, path, {**given, **{name: VALUE.get(name, 1) for name in some}})
            refused = [error["pointer"] for error in answer.json.get("errors", [])] if answer.is_json else []
            if answer.status_code != 422 or sorted(refused) != [f"#/{name}" for name in some]:
                wrong.append(f"{route.name} answered {answer.status_code} to {some}, naming {refused}")
        if everything(app) != before:
            wrong.append(f"{route.name} changed something")
    assert wrong == []


def test_all_unknown_fields_are_named_at_once(admin, world):
    given = {"title": "x", "owner_id": 1, "status": "live", "upvotes": 1}
    answer = admin.put(f"/api/projects/{world.project()}", given)
    assert {error["pointer"] for error in answer.json["errors"]} == {"#/owner_id", "#/status", "#/upvotes"}


def test_the_same_body_without_the_extra_field_is_taken(app, admin, targets):
    refused = []
    for route in unsafe(app):
        path, project_id = targets.path(route.rule, "live" if route.rule.endswith(LIVE) else "pending")
        if body(route, project_id) is not None and route.name != "DELETE /api/auth/me":  # that has a wrong password
            answer = admin.call(route.method, path, body(route, project_id))
            expected = {LACKING.get(route.name, 200), 201, 202, 204}
            if answer.status_code not in expected:
                refused.append(f"{route.name}: {answer.status_code} {answer.json}")
    assert refused == []
