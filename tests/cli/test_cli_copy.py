"""flask copy: everything of one database in another, whichever way it goes."""

import sys
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings

from directory.cli import copy as copy_command
from directory.db.transactions import transaction
from directory.extensions import db
from directory.services import bulk
from directory.services.data import copying
from tests.cli.test_cli_console import Terminal
from tests.conftest import Database
from tests.support import generated_rows
from tests.support.copies import change, emptied, held, run, target
from tests.support.factories import PASSWORD, Api, World

__all__ = ["emptied", "run", "target"]


def test_each_table_is_copied_or_made_anew_or_left_behind_on_purpose(context: None) -> None:
    assert set(db.metadata.tables.values()) - set(copying.tables()) == {
        db.metadata.tables["sessions"],
        db.metadata.tables["passkey_challenges"],
        db.metadata.tables["review_claims"],
        db.metadata.tables["picture_uses"],
        db.metadata.tables["project_tags"],
        db.metadata.tables["project_fields"],
        db.metadata.tables["field_counts"],
        db.metadata.tables["standings"],
        db.metadata.tables["tag_counts"],
        db.metadata.tables["user_counts"],
        db.metadata.tables["user_submissions"],
        db.metadata.tables["day_counts"],
    }


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables=generated_rows.everything())
def test_whatever_a_table_can_hold_survives(
    app: Flask, target: Flask, database: Database, emptied: Database, run: Any, tables: Any
) -> None:
    for app_, kept in ((app, database), (target, emptied)):
        with app_.app_context():
            db.session.remove()
            db.engine.dispose()
        kept.reset()
    with app.app_context():
        transaction(lambda: generated_rows.write(tables))
    result = run()
    assert result.exit_code == 0, result.output
    assert held(target) == held(app)
    assert len(held(app)["upvotes"]) == len(tables["users"])


def signed_in(app: Flask, username: str) -> str:
    """The cookie of a new session."""
    login = {"login": username, "password": PASSWORD}
    return str(Api(app).post("/api/auth/login", login).headers["Set-Cookie"]).partition(";")[0]


def doubtful(world: World, project: int) -> None:
    """Add two votes that do not count: one of a suspended user, and one that is discounted."""
    root, users = world.caller(world.admin()), [world.user() for _ in range(2)]
    for user in users:
        world.vote(project, user)
    root.put(f"/api/admin/users/{users[0].id}", {"status": "suspended"})
    world.discount(project, users[1])


def test_the_service_goes_on_where_it_was(app: Flask, target: Flask, world: World, run: Any) -> None:
    ada, grace = world.user("ada"), world.admin("grace")
    projects = [world.project(ada, status, title=f"Zebra {status}", tags=["a", "b"]) for status in ("live", "rejected")]
    world.vote(projects[0], grace)
    world.revise(projects[0], ada, title="Held", category="tools")
    doubtful(world, projects[0])
    gone = world.project(ada)
    token, cookie = world.caller(ada).token, signed_in(app, "ada")
    assert Api(app, token).delete(f"/api/projects/{gone}").status_code == 204
    result = run()
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-2:] == [
        "Recounted 2 projects and 1 vote: all is right.",
        "Copied. 1 session not copied: everybody has to sign in again.",
    ]
    for path in ("/api/projects?q=zeb", "/api/projects?owner=me&tag=b", "/api/categories", "/api/auth/me"):
        answers = [Api(one, token).get(path) for one in (app, target)]
        assert answers[0].json == answers[1].json, path
        assert answers[1].status_code == 200
    shown = Api(target, token).get(f"/api/projects/{projects[0]}").json
    assert (shown["revision"]["changes"], shown["upvotes"]) == ({"title": "Held"}, 1)
    before, after = (Api(one).get("/api/auth/me", headers={"Cookie": cookie}).status_code for one in (app, target))
    assert (before, after) == (200, 401)
    assert signed_in(target, "grace")
    # The log still tells of the project that is gone, so its number is nobody else's.
    assert World(target).project(status="pending") == gone + 1


def test_a_token_comes_after_the_one_that_made_it(
    app: Flask, target: Flask, world: World, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL reads a row that was changed after those that were not, and a token is changed by its use."""
    maker = world.caller(world.user()).token
    made = Api(app, maker).post("/api/auth/tokens", {"name": "made"}).json["token"]
    change(app, "UPDATE tokens SET last_used_at = expires_at WHERE parent_id IS NULL")
    monkeypatch.setattr(copying, "READ_AT_ONCE", 1)
    result = run()
    assert result.exit_code == 0, result.output
    assert Api(target, made).get("/api/auth/me").status_code == 200


def test_what_it_shows_is_every_table_with_its_rows(app: Flask, world: World, run: Any) -> None:
    world.project(votes=2)
    lines = [line.split() for line in run().output.splitlines()]
    assert lines[0] == ["TABLE", "SOURCE", "TARGET", "ROWS"]
    shown = {line[0]: line[1:] for line in lines[1:-2]}
    with app.app_context():
        left_out = {"sessions", "passkey_challenges", "standings", "tag_counts", "user_counts", "user_submissions"}
        left_out |= {"day_counts", "review_claims", "field_counts"}
        assert shown.keys() == (db.metadata.tables.keys() - left_out) | {"project_search"}
    assert shown["upvotes"] == ["2", "2", "the", "same"]
    assert shown["deliveries"] == ["0", "0", "the", "same"]


def test_an_empty_directory_is_copied_and_can_be_once_more(target: Flask, run: Any) -> None:
    assert [run().exit_code for _ in range(2)] == [0, 0]
    assert World(target).user().id == 1


def test_no_more_than_a_chunk_is_ever_held(world: World, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.project(votes=7)
    taken: list[int] = []
    load = bulk.load
    monkeypatch.setattr(copying, "READ_AT_ONCE", 3)
    monkeypatch.setattr(bulk, "load", lambda each, names, rows: (taken.append(len(rows)), load(each, names, rows)))
    assert run().exit_code == 0
    assert max(taken) == 3
    assert taken.count(3) >= 4


def test_who_watches_sees_a_bar(world: World, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.project(votes=2)
    screens = []

    def watched(*arguments: Any, **options: Any) -> Any:
        screens.append(Terminal())
        monkeypatch.setattr(sys, "stderr", screens[-1])
        return progress(*arguments, **options)

    progress = copy_command.Progress
    monkeypatch.setattr(copy_command, "Progress", watched)
    assert run().exit_code == 0
    assert "100%" in screens[0].getvalue()
