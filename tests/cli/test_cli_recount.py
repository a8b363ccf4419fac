"""flask recount: finds what was put wrong behind the service's back, and puts it right."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text

from directory.cli import recount as command
from directory.db import portions
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Project, Review, now
from directory.services.catalog import search_index
from directory.services.data import counter_checks, recount
from directory.services.identity import Caller
from directory.services.review import moderation
from directory.services.review.case import changes_of
from tests.conftest import Database
from tests.support.factories import World

RIGHT = "Counted 3 projects and 2 votes: all is right.\n"


CASE, ONE = "INSERT INTO reviews (project_id, kind, turn, since, place, category_id)", "WHERE id = :id"
OF_OWNER = "user_id = (SELECT owner_id FROM projects WHERE id = :id)"


@pytest.fixture
def run(app: Flask) -> Any:
    """Runs `flask recount`."""
    runner = app.test_cli_runner(catch_exceptions=False)
    return lambda *arguments: runner.invoke(args=["recount", *arguments])


@pytest.fixture
def first(world: World) -> int:
    """The first of three projects: live, with two votes and two tags."""
    number = world.project(world.user("owner"), title="Needle", tags=["one", "two"], votes=2)
    world.project(status="pending")
    world.project(status="rejected")
    return number


def damage(app: Flask, statement: str, **values: Any) -> None:
    with app.app_context():
        transaction(lambda: db.session.execute(text(statement), values))


def lose_from_the_index(app: Flask, number: int, backend: str) -> None:
    key = "rowid" if backend == "sqlite" else "project_id"
    damage(app, f"DELETE FROM project_search WHERE {key} = :id", id=number)


@pytest.mark.usefixtures("first")
def test_where_all_is_right_it_says_so_and_ends_with_0(run: Any) -> None:
    for arguments in ([], ["--check"]):
        result = run(*arguments)
        assert (result.exit_code, result.output) == (0, RIGHT)


def test_an_empty_directory_is_right(run: Any) -> None:
    assert run().output == "Counted 0 projects and 0 votes: all is right.\n"


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE projects SET upvotes = 1234 WHERE id = :id", "project 1: upvotes 1,234 instead of 2"),
        ("UPDATE projects SET hot = 1.5 WHERE id = :id", "project 1: hot 1.5 instead of "),
        ("DELETE FROM upvotes WHERE user_id = (SELECT min(user_id) FROM upvotes)", "project 1: upvotes 2 instead of 1"),
        ("DELETE FROM project_tags WHERE project_id = :id", "project 1: tags none instead of one, two"),
        ("INSERT INTO project_tags VALUES ('zz', 2 * :id)", "project 2: tags zz instead of none"),
        ("DELETE FROM standings WHERE project_id = :id", "project 1: standing missing"),
        ("UPDATE standings SET upvotes = 9 WHERE project_id = :id", "project 1: standing out of date"),
        ("UPDATE projects SET url_key = 'x' WHERE id = :id", "project 1: url_key x instead of "),
        ("UPDATE standings SET hot = 0.5 WHERE project_id = :id", "project 1: standing out of date"),
        ("UPDATE standings SET status = 'pending' WHERE project_id = :id", "project 1: standing out of date"),
        ("UPDATE standings SET category_id = 99 WHERE project_id = :id", "project 1: standing out of date"),
        (
            f"{CASE} SELECT id, 'submission', 'reviewers', submitted_at, submitted_at, category_id FROM projects {ONE}",
            "project 1: live, but its case is of a project that is pending",
        ),
        (
            "DELETE FROM reviews WHERE project_id = 2 * :id",
            "project 2: pending, but its case is of a project that is live",
        ),
        (
            "UPDATE reviews SET turn = NULL, outcome = 'rejected' WHERE project_id = 2 * :id",
            "project 2: pending, but its case is of a project that is rejected",
        ),
        (
            "DELETE FROM reviews WHERE project_id = 3 * :id",
            "project 3: rejected, but its case is of a project that is live",
        ),
        ("UPDATE reviews SET category_id = 99 WHERE project_id = 2 * :id", "project 2: its case has another place or "),
        (
            "UPDATE reviews SET place = '2001-01-01 00:00:00.000000' WHERE project_id = 3 * :id",
            "project 3: its case has another place or category",
        ),
        ("UPDATE categories SET live_projects = 5 * :id", "category tools: live_projects 5 instead of 1"),
        ("UPDATE categories SET pending_projects = 0 * :id", "category tools: pending_projects 0 instead of 1"),
        ("UPDATE categories SET rejected_projects = 9 * :id", "category tools: rejected_projects 9 instead of 1"),
        ("UPDATE tag_counts SET live_projects = 9 * :id WHERE tag = 'two'", "tag two: live_projects 9 instead of 1"),
        ("DELETE FROM tag_counts WHERE tag = 'one' AND live_projects >= :id", "tag one: live_projects 0 instead of 1"),
        ("INSERT INTO tag_counts VALUES ('zz', 3 * :id)", "tag zz: live_projects 3 instead of 0"),
        ("UPDATE user_counts SET users = 7 * :id", "accounts: active members 7 instead of 5"),
        ("DELETE FROM user_counts WHERE users > :id", "accounts: active members 0 instead of 5"),
        (f"UPDATE user_submissions SET submissions = 7 WHERE {OF_OWNER}", "user owner: submissions 7 instead of "),
        (f"DELETE FROM user_submissions WHERE {OF_OWNER}", "user owner: submissions -1 instead of "),
        (f"DELETE FROM last_uses WHERE {OF_OWNER}", "user owner: rows of last uses 0 instead of 1"),
        ("INSERT INTO user_counts VALUES ('admin', 'suspended', 3 * :id)", "accounts: suspended admins 3 instead of 0"),
        ("UPDATE day_counts SET number = 9 * :id WHERE kind = 'project.rejected'", "project.rejected of "),
        (
            "INSERT INTO day_counts VALUES ('signups', '2020-01-02', :id)",
            "signups of 2020-01-02: 1 counted instead of 0",
        ),
        ("DELETE FROM day_counts WHERE kind = 'signups'", "signups of "),
    ],
)
def test_what_is_wrong_is_named_and_repaired(app: Flask, run: Any, first: int, statement: str, says: str) -> None:
    damage(app, statement, **({"id": first} if ":id" in statement else {}))
    for arguments, outcome in ((["--check"], "none repaired (--check)."), ([], "1 fault found and repaired.")):
        result = run(*arguments)
        assert result.exit_code == 1
        assert result.stderr.startswith(says)
        assert result.stderr.count("\n") == 1
        assert result.stdout.endswith(f"{outcome}\n")
    again = run()
    assert again.exit_code == 0
    assert again.output.endswith(": all is right.\n")


OPEN = "turn = 'reviewers' AND kind = 'changes'"
HELD = """UPDATE reviews SET changes = '{"title": "Needle", "url": "https://x.example"}' WHERE """ + OPEN


@pytest.mark.parametrize(
    ("statement", "number", "says", "kept"),
    [
        (HELD, 1, "title, url, category instead of url, category", {"url", "category"}),
        (
            "UPDATE reviews SET category = 'tools' WHERE kind = 'changes' AND turn = 'reviewers'",
            1,
            "title, category instead of title",
            {"title"},
        ),
        (
            "UPDATE reviews SET changes = '{}', category = NULL WHERE kind = 'changes' AND turn = 'reviewers'",
            1,
            "nothing instead of none",
            None,
        ),
    ],
)
def test_a_revision_that_holds_what_needs_no_decision_is_named_and_repaired(
    app: Flask, run: Any, first: int, world: World, statement: str, number: int, says: str, kept: Any
) -> None:
    world.category("games")
    owner = Caller(world.stored(first)["owner"]["id"], "owner", "member")
    refused = world.project(owner)
    world.revise(first, owner, title="Held", category="games")
    world.revise(refused, owner, title="Refused")
    with app.app_context():
        transaction(lambda: moderation.decide(refused, "reject", by=None, notify=[]))
    assert run("--check").exit_code == 0
    damage(app, statement)
    for arguments in (["--check"], []):
        result = run(*arguments)
        assert (result.exit_code, result.stderr) == (1, f"project {number}: revision {says}\n")
    assert run("--check").exit_code == 0
    assert world.stored(number)["version"] == {1: 4, 2: 2}[number]
    with app.app_context():
        open_cases = db.session.scalars(select(Review).where(Review.is_current, Review.changes.is_not(None)))
        stored = {review.project_id: set(changes_of(review)) for review in open_cases}
    assert (stored.get(number), stored[refused]) == (kept, set())


def test_the_keys_that_rules_count_by_are_put_right(app: Flask, run: Any, first: int) -> None:
    damage(app, "UPDATE projects SET domain = 'wrong', text_key = 'wrong' WHERE id = :id", id=first)
    assert [line.split(":")[1].split()[0] for line in run().stderr.splitlines()] == ["domain", "text_key"]
    assert run().output == RIGHT


def test_the_key_of_what_is_not_a_url_by_the_rules_of_today_is_left_as_it_is(app: Flask, run: Any, first: int) -> None:
    damage(app, "UPDATE projects SET url = 'ftp://old', url_key = 'old', domain = NULL WHERE id = :id", id=first)
    assert run().stderr == f"project {first}: missing or out of date in the search index\n"  # the words of the URL
    assert run().output == RIGHT


def test_a_project_lost_from_the_index_is_found_again(
    app: Flask, run: Any, first: int, database: Database, api: Any
) -> None:
    lose_from_the_index(app, first, database.backend)
    assert run().stderr == f"project {first}: missing or out of date in the search index\n"
    assert [item["id"] for item in api.get("/api/projects?q=needle").json["items"]] == [first]
    assert run().output == RIGHT


def test_an_entry_that_a_search_of_many_does_not_look_at_is_put_right(
    app: Flask, run: Any, first: int, database: Database
) -> None:
    wrong = "UPDATE project_search SET live = false WHERE project_id = :id"
    if database.backend == "sqlite":
        wrong = "DELETE FROM project_search_brief WHERE rowid = :id"
    damage(app, wrong, id=first)
    assert run().stderr == f"project {first}: missing or out of date in the search index\n"
    assert run().output == RIGHT


@pytest.mark.usefixtures("first")
def test_what_is_left_in_the_index_of_a_project_that_is_gone_goes(app: Flask, run: Any, database: Database) -> None:
    if database.backend == "postgresql":
        pytest.skip("PostgreSQL's foreign key prevents it")
    damage(app, "INSERT INTO project_search (rowid, title, brief, description) VALUES (999, 'needle', '', '')")
    assert run().stderr == "project 999: gone, but still in the search index\n"
    assert run().output == RIGHT


def test_one_project_may_have_several_faults(app: Flask, run: Any, first: int, database: Database) -> None:
    damage(app, "UPDATE projects SET upvotes = 7 WHERE id = :id", id=first)
    damage(app, "DELETE FROM project_tags")
    lose_from_the_index(app, first, database.backend)
    result = run()
    assert len(result.stderr.splitlines()) == 3
    assert result.stdout == "Counted 3 projects and 2 votes: 3 faults found and repaired.\n"
    assert run().output == RIGHT


def test_projects_are_looked_at_in_chunks_of_which_none_is_missed(
    app: Flask, run: Any, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ida = world.user("ida")
    ids = [world.project(ida, status="pending") for _ in range(6)]
    monkeypatch.setattr(recount, "LOOKED_AT_ONCE", 4)
    monkeypatch.setattr(portions, "AT_ONCE", 3)
    damage(app, "DELETE FROM projects WHERE id = :id", id=ids[2])
    with app.app_context():
        transaction(lambda: search_index.forget(ids[2]))
    damage(app, "UPDATE projects SET upvotes = 1")
    result = run()
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == [f"project {n}" for n in ids if n != ids[2]]
    assert run().output == "Counted 5 projects and 0 votes: all is right.\n"


def test_of_very_many_faults_the_first_of_a_kind_are_shown_and_all_repaired(
    app: Flask, run: Any, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SHOWN", 2)
    ida = world.user("ida")
    for _ in range(4):
        world.project(ida)
    damage(app, "UPDATE projects SET upvotes = 1")
    damage(app, "UPDATE categories SET live_projects = 1")
    lines = run().stderr.splitlines()
    assert lines[2] == "… more of upvotes follow; they are counted, not shown."
    assert lines[3:] == ["category tools: live_projects 1 instead of 4"]
    assert run().exit_code == 0


def test_a_suspicion_that_does_not_hold_under_the_locks_is_no_fault(app: Flask, first: int) -> None:
    wrong = [first, first + 500]
    before = now()
    with app.app_context():
        assert transaction(lambda: recount.confirm(wrong, repair=True)) == []
        assert transaction(lambda: counter_checks.CATEGORIES.confirm(repair=True)) == []
        assert transaction(lambda: counter_checks.TAGS.confirm(repair=True)) == []
        updated = db.session.scalars(select(Project.id).where(Project.updated_at > before)).all()
    assert updated == []


def test_a_vote_between_two_looks_is_no_fault(
    app: Flask, run: Any, first: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    voter, looked = world.user(), recount.look

    def look(scope: recount.Scope) -> recount.Look:
        if voters:
            world.vote(first, voters.pop())
            return recount.Look(3, 2, [recount.Fault("upvotes", first, 2, 3)])
        return looked(scope)

    voters = [voter]
    monkeypatch.setattr(recount, "look", look)
    assert run().exit_code == 0
    assert voters == []
    assert world.stored(first)["upvotes"] == 3
