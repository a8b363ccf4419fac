"""Which votes count: those of active users that are not discounted, in every counter and order, at once."""

from datetime import UTC, datetime
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, func, select, text, update

from directory.db import deadline
from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.vote_review import decisions
from directory.models import Project, Upvote, User, VoteDiscount, VoteRanking, now
from directory.services.accounts import accounts
from directory.services.catalog.orders import hot
from directory.services.data import counter_checks, recount
from directory.services.identity import Caller
from directory.services.people import administration
from directory.services.votes import voting
from tests.conftest import Database, Statements
from tests.support.factories import PASSWORD, Api, World
from tests.support.lists import ORDERS_BY_VOTES


@pytest.fixture
def root(world: World) -> Api:
    return world.caller(world.admin("root"))


def set_status(root: Api, user: Caller, status: str, **more: Any) -> Any:
    answer = root.put(f"/api/admin/users/{user.id}", {"status": status, **more})
    assert answer.status_code == 200, answer.json
    return answer.json


def decide(root: Api, project: int, decision: str, *users: Caller, **more: Any) -> Any:
    body = {"decision": decision, "user_ids": [user.id for user in users], **more}
    answer = root.post(f"/api/admin/projects/{project}/votes/decisions", body)
    assert answer.status_code == 200, answer.json
    return answer.json


def faults(app: Flask) -> list[Any]:
    with app.app_context():
        return recount.look(lambda number: number > 0).faults + counter_checks.USERS.look()


def upvotes(api: Api, *projects: int) -> list[int]:
    return [api.get(f"/api/projects/{project}").json["upvotes"] for project in projects]


def rows(app: Flask) -> int:
    with app.app_context():
        return db.session.scalar(select(func.count()).select_from(Upvote)) or 0


def toggle(voter: Api, project: int) -> tuple[bool, int]:
    answer = voter.post(f"/api/projects/{project}/upvote").json
    return answer["upvoted"], answer["upvotes"]


def test_a_suspension_takes_all_votes_of_the_user_out_and_activation_adds_those_not_discounted(
    app: Flask, world: World, api: Api, root: Api
) -> None:
    sock, fan = world.user(), world.user()
    live, other = world.project(), world.project()
    pending = world.project()
    for project in (live, other, pending):
        world.vote(project, sock)
    world.vote(live, fan)
    root.put(f"/api/admin/projects/{pending}/unpublish")
    decide(root, other, "discount", sock)
    assert upvotes(root, live, other, pending) == [2, 0, 1]
    set_status(root, sock, "suspended")
    assert upvotes(root, live, other, pending) == [1, 0, 0]
    assert rows(app) == 4
    assert faults(app) == []
    set_status(root, sock, "suspended")  # again: nothing is taken twice
    assert upvotes(root, live, other, pending) == [1, 0, 0]
    set_status(root, sock, "active")
    set_status(root, sock, "active")
    assert upvotes(root, live, other, pending) == [2, 0, 1]
    assert faults(app) == []


def test_the_rank_and_the_standing_follow_at_once(app: Flask, world: World, root: Api) -> None:
    sock, project = world.user(), world.project(votes=2)
    world.vote(project, sock)

    def expect(n: int) -> None:
        with app.app_context():
            stored = db.session.get_one(Project, project)
            standing = db.session.get_one(VoteRanking, project)
            rank = pytest.approx(hot(n, stored.listed_at), rel=1e-12)
            assert (stored.upvotes, standing.upvotes, stored.hot, standing.hot) == (n, n, rank, rank)

    expect(3)
    set_status(root, sock, "suspended")
    expect(2)
    set_status(root, sock, "active")
    expect(3)
    decide(root, project, "discount", sock)
    expect(2)
    decide(root, project, "count", sock)
    expect(3)


@pytest.mark.parametrize("sort", ORDERS_BY_VOTES)
@pytest.mark.parametrize("means", ["suspended", "discounted"])
def test_the_orders_follow_on_the_next_request(world: World, api: Api, root: Api, sort: str, means: str) -> None:
    ring = [world.user() for _ in range(3)]
    pushed, honest = world.project(), world.project(votes=2)
    with world.app.app_context():  # of one age, so that the votes alone tell them apart
        transaction(lambda: db.session.execute(update(Project).values(published_at=now())))
    for sock in ring:
        world.vote(pushed, sock)
    world.vote(honest, world.user())
    world.vote(pushed, world.user())

    def order() -> list[tuple[int, int]]:
        items = api.get(f"/api/projects?sort={sort}").json["items"]
        return [(item["id"], item["upvotes"]) for item in items]

    assert order() == [(pushed, 4), (honest, 3)]
    if means == "suspended":
        for sock in ring:
            set_status(root, sock, "suspended")
    else:
        decide(root, pushed, "discount", *ring)
    assert order() == [(honest, 3), (pushed, 1)]


def test_the_dashboard_and_statistics_count_votes_that_count_and_votes_cast(world: World, root: Api) -> None:
    owner, sock, shill, fan = (world.user() for _ in range(4))
    one, two = world.project(owner), world.project(owner)
    for voter in (sock, shill, fan):
        world.vote(one, voter)
    world.vote(two, sock)
    world.vote(two, shill)

    def expect(n: int) -> None:
        figures = root.get("/api/admin/analytics?days=2").json
        assert figures["totals"]["upvotes"] == n
        assert sum(day["upvotes"] for day in figures["series"]) == n
        tops = sum(project["upvotes"] for project in figures["top_projects"])
        assert tops == n
        assert root.get(f"/api/admin/users/{owner.id}").json["stats"]["upvotes_received"] == n
        assert root.get(f"/api/users/{owner.username}").json["upvotes_received"] == n
        given = [root.get(f"/api/admin/users/{user.id}").json["stats"]["upvotes_given"] for user in (sock, shill, fan)]
        assert given == [2, 2, 1]

    expect(5)
    decide(root, two, "discount", shill, sock)
    expect(3)
    set_status(root, sock, "suspended")  # one of whose votes is discounted
    expect(2)
    set_status(root, shill, "suspended")
    expect(1)
    set_status(root, sock, "active")
    expect(2)
    decide(root, two, "count", sock, shill)
    expect(3)


def test_the_figures_of_the_days_before_leave_out_what_does_not_count(app: Flask, world: World, root: Api) -> None:
    sock, project = world.user(), world.project(votes=1)
    world.vote(project, sock)
    with app.app_context():
        days_ago = now().replace(hour=0, minute=0, second=0, microsecond=0)
        days_ago = datetime.fromtimestamp(days_ago.timestamp() - 86_400, UTC)
        transaction(lambda: db.session.execute(update(Upvote).values(created_at=days_ago)))

    def previous() -> tuple[int, list[int]]:
        figures = root.get("/api/admin/analytics?days=1").json
        return figures["previous"]["upvotes"], [day["upvotes"] for day in figures["series"]]

    assert previous() == (2, [0])
    decide(root, project, "discount", sock)
    assert previous() == (1, [0])
    assert [day["upvotes"] for day in root.get("/api/admin/analytics?days=2").json["series"]] == [1, 0]


def test_a_discounted_voter_is_told_what_the_voter_did(app: Flask, world: World, api: Api, root: Api) -> None:
    sock, project = world.user(), world.project(votes=1)
    voter = world.caller(sock)
    assert toggle(voter, project) == (True, 2)
    decide(root, project, "discount", sock)
    assert voter.get(f"/api/projects/{project}").json["has_upvoted"] is True
    assert [item["has_upvoted"] for item in voter.get("/api/projects").json["items"]] == [True]
    assert [item["id"] for item in voter.get("/api/projects?upvoted=me").json["items"]] == [project]
    assert toggle(voter, project) == (False, 1)
    assert voter.get(f"/api/projects/{project}").json["has_upvoted"] is False
    assert toggle(voter, project) == (True, 1)
    answers = [voter.call(method, f"/api/projects/{project}/upvote").json for method in ("PUT", "DELETE", "PUT")]
    assert [(a["upvoted"], a["upvotes"]) for a in answers] == [(True, 1), (False, 1), (True, 1)]
    assert upvotes(api, project) == [1]
    assert faults(app) == []


def test_a_voter_who_votes_again_stays_discounted_until_count_and_for_this_project_alone(
    app: Flask, world: World, root: Api
) -> None:
    sock, project, other = world.user(), world.project(), world.project()
    voter = world.caller(sock)
    toggle(voter, project)
    decide(root, project, "discount", sock)
    assert [toggle(voter, project), toggle(voter, project)] == [(False, 0), (True, 0)]
    assert toggle(voter, other) == (True, 1)
    assert decide(root, project, "count", sock) == {"changed": 1, "upvotes": 1}
    assert [toggle(voter, project), toggle(voter, project)] == [(False, 0), (True, 1)]
    assert faults(app) == []


def test_count_lifts_a_discount_while_the_vote_is_withdrawn(app: Flask, world: World, root: Api) -> None:
    sock, project = world.user(), world.project()
    voter = world.caller(sock)
    toggle(voter, project)
    decide(root, project, "discount", sock)
    toggle(voter, project)
    assert decide(root, project, "count", sock) == {"changed": 1, "upvotes": 0}
    assert toggle(voter, project) == (True, 1)
    assert faults(app) == []


def test_votes_that_come_together_leave_out_those_discounted(app: Flask, world: World, root: Api) -> None:
    users = [world.user() for _ in range(4)]
    project = world.project()
    for user in users[:2]:
        world.vote(project, user)
    decide(root, project, "discount", *users[:2])
    with app.app_context():
        outcomes = voting._together([voting.Vote(user, project, "toggle") for user in users])
    assert [tuple(outcome)[2:] for outcome in outcomes] == [(False, 0), (False, 0), (True, 1), (True, 2)]
    assert faults(app) == []


def test_deleting_the_account_removes_votes_and_discounts(app: Flask, world: World, api: Api, root: Api) -> None:
    sock, other = world.user(), world.user()
    voter = world.caller(sock)
    voted, discounted, withdrawn = (world.project(votes=1) for _ in range(3))
    for project in (voted, discounted, withdrawn):
        toggle(voter, project)
    world.vote(discounted, other)
    decide(root, discounted, "discount", sock, other)
    decide(root, withdrawn, "discount", sock)
    toggle(voter, withdrawn)
    assert upvotes(api, voted, discounted, withdrawn) == [2, 1, 1]
    assert voter.delete("/api/auth/me", json={"current_password": PASSWORD}).status_code == 204
    assert upvotes(api, voted, discounted, withdrawn) == [1, 1, 1]
    with app.app_context():
        assert db.session.scalars(select(VoteDiscount.user_id)).all() == [other.id]
        assert db.session.scalar(select(func.count()).select_from(Upvote)) == 4
    assert faults(app) == []


def test_deleting_the_project_removes_its_discounts(app: Flask, world: World, root: Api) -> None:
    sock, project = world.user(), world.project()
    world.vote(project, sock)
    decide(root, project, "discount", sock)
    assert root.delete(f"/api/projects/{project}").status_code == 204
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(VoteDiscount)) == 0


def test_discounts_survive_whatever_happens_to_project_and_voter(app: Flask, world: World, root: Api) -> None:
    sock, project = world.user(), world.project(votes=1)
    world.vote(project, sock)
    decide(root, project, "discount", sock)
    root.put(f"/api/admin/projects/{project}/unpublish")
    root.put(f"/api/admin/projects/{project}/approve")
    set_status(root, sock, "suspended")
    set_status(root, sock, "active")
    assert upvotes(root, project) == [1]
    assert faults(app) == []


def test_a_takedown_says_how_many_votes_it_takes_out(app: Flask, world: World, root: Api) -> None:
    spammer = world.user()
    own, others = world.project(spammer), [world.project() for _ in range(3)]
    for project in (own, *others):
        world.vote(project, spammer)
    decide(root, others[0], "discount", spammer)
    taken = set_status(root, spammer, "suspended", unpublish=True)["taken_down"]
    assert taken == {"unpublished": 1, "rejected": 1, "votes": 3}
    assert upvotes(root, own, *others) == [0, 0, 0, 0]
    assert set_status(root, spammer, "suspended", unpublish=True)["taken_down"]["votes"] == 0
    assert faults(app) == []


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_a_takedown_locks_own_projects_and_those_voted_for_in_one_order(
    app: Flask, world: World, statements: Statements
) -> None:
    spammer = world.user()
    first = world.project()
    own, last = world.project(spammer), world.project()
    for project in (first, last):
        world.vote(project, spammer)
    locked: list[list[int]] = []

    def note(conn: Any, _cursor: Any, statement: str, _parameters: Any, *_rest: Any) -> None:
        if "UPDATE users SET" in statement and "status=" in statement:
            rows = conn.exec_driver_sql("SELECT id FROM projects WHERE xmax::text <> '0' ORDER BY id")
            locked.append([row.id for row in rows])

    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", note)
        transaction(
            lambda: administration.administer(spammer.id, role=None, status="suspended", by=None, lock_owned=True)
        )
        event.remove(db.engine, "before_cursor_execute", note)
    assert locked == [[first, own, last]]


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_postgresql_follows_a_status_that_another_version_changes(app: Flask, world: World, root: Api) -> None:
    sock, project, other = world.user(), world.project(votes=1), world.project()
    world.vote(project, sock)
    world.vote(other, sock)
    decide(root, other, "discount", sock)
    for status, counted in (("suspended", [1, 0]), ("suspended", [1, 0]), ("active", [2, 0])):
        with app.app_context():
            transaction(
                lambda status=status: db.session.execute(update(User).where(User.id == sock.id).values(status=status))
            )
        assert upvotes(root, project, other) == counted
        assert faults(app) == []


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_postgresql_has_another_version_delete_an_account_with_discounts(app: Flask, world: World, root: Api) -> None:
    sock, project, other = world.user(), world.project(votes=1), world.project()
    world.vote(project, sock)
    world.vote(other, sock)
    decide(root, other, "discount", sock)
    with app.app_context():

        def as_before() -> None:
            db.session.execute(update(User).where(User.id == sock.id).values(deleted_at=now()))
            for each in (project, other):
                values = {"upvotes": Project.upvotes - 1, "hot": 0}
                db.session.execute(update(Project).where(Project.id == each).values(values))
            db.session.execute(Upvote.__table__.delete().where(Upvote.user_id == sock.id))
            db.session.execute(update(User).where(User.id == sock.id).values(status="suspended"))

        transaction(as_before)
        assert db.session.scalar(select(func.count()).select_from(VoteDiscount)) == 0
    assert upvotes(root, project, other) == [1, 0]
    assert [fault.kind for fault in faults(app)] == ["hot", "hot"]


@pytest.mark.parametrize("size", [1, 7])
def test_a_suspension_costs_the_same_statements_whatever_the_number_of_votes(
    app: Flask, world: World, root: Api, statements: Statements, database: Database, size: int
) -> None:
    sock = world.user()
    for _ in range(size):
        world.vote(world.project(), sock)
    root.get("/api/auth/me")
    statements.clear()
    set_status(root, sock, "suspended")
    counted = [sql for sql in statements if "upvotes" in sql and "count(users" not in sql and "given" not in sql]
    assert len(counted) == (2 if database.backend == "postgresql" else 3), counted


def test_a_change_of_very_many_votes_has_more_time_than_other_requests(
    app: Flask, world: World, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sock, project, other = world.user(), world.project(), world.project()
    world.vote(project, sock)
    world.vote(other, sock)

    def suspend(status: str) -> tuple[float, Any]:
        administration.administer(sock.id, role=None, status=status, by=None)
        limit = db.session.scalar(text("SHOW statement_timeout")) if database.backend == "postgresql" else "0"
        return deadline.remaining(100), limit

    with app.app_context():
        with deadline.within(4):
            left, limit = transaction(lambda: suspend("suspended"))
            assert left <= 4
            assert database.backend == "sqlite" or limit != "0"
        monkeypatch.setattr(administration, "MANY_VOTES", 1)
        with deadline.within(4):
            left, limit = transaction(lambda: suspend("active"))
            assert 50 < left <= 60
            assert limit == "0"
        assert deadline.remaining(100) == 100


@pytest.mark.parametrize("command", ["suspend", "activate"])
def test_the_command_says_how_many_votes_it_changes(app: Flask, world: World, root: Api, command: str) -> None:
    world.user("sock")
    with app.app_context():
        sock = Caller(accounts.find("sock").id, "sock", "member")  # type: ignore[union-attr]
    projects = [world.project(votes=1) for _ in range(2)]
    for project in projects:
        world.vote(project, sock)
    if command == "activate":
        set_status(root, sock, "suspended")
    said = app.test_cli_runner().invoke(args=["users", command, "sock"])
    assert said.exit_code == 0, said.output
    assert {"suspend": "2 votes no longer count.", "activate": "2 votes count again."}[command] in said.output
    assert upvotes(root, *projects) == {"suspend": [1, 1], "activate": [2, 2]}[command]
    assert faults(app) == []


def test_recount_finds_and_repairs_a_counter_that_is_not_the_votes_that_count(
    app: Flask, world: World, root: Api
) -> None:
    sock, shill, project = world.user(), world.user(), world.project(votes=1)
    world.vote(project, sock)
    world.vote(project, shill)
    set_status(root, sock, "suspended")
    decide(root, project, "discount", shill)
    run = app.test_cli_runner().invoke
    assert run(args=["recount", "--check"]).exit_code == 0
    with app.app_context():
        transaction(lambda: db.session.execute(update(Project).values(upvotes=3)))
    said = run(args=["recount", "--check"])
    assert "upvotes 3 instead of 1" in said.output
    run(args=["recount"])
    assert upvotes(root, project) == [1]
    assert faults(app) == []


def test_the_export_of_an_account_says_which_votes_count(world: World, root: Api) -> None:
    sock, project, other = world.user(), world.project(), world.project()
    world.vote(project, sock)
    world.vote(other, sock)
    decide(root, project, "discount", sock)
    votes = world.caller(sock).get("/api/auth/me/export").json["votes"]
    assert [(vote["project_id"], vote["counted"]) for vote in votes] == [(other, True), (project, False)]


def test_a_decision_is_part_of_the_callers_transaction(app: Flask, world: World) -> None:
    root, sock, project = world.admin(), world.user(), world.project()
    world.vote(project, sock)

    def broken() -> None:
        decisions.decide(project, "discount", by=root, user_ids=[sock.id])
        raise ZeroDivisionError

    with app.app_context(), pytest.raises(ZeroDivisionError):
        transaction(broken)
    assert world.stored(project)["upvotes"] == 1
    assert faults(app) == []
