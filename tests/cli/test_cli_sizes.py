"""flask seed with numbers: made-up directories of any size, exact to the last vote."""

import sys
from itertools import pairwise
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from bench import synthetic, zipf
from bench.synthetic import Plan, Sizes
from directory.api.schemas.accounts import RegisterInput
from directory.api.schemas.projects import ProjectInput
from directory.db.transactions import transaction, writing
from directory.errors import Duplicate, Invalid
from directory.extensions import db
from directory.models import AuditEntry, Category, Project, Status, Upvote, User, now
from directory.services import bulk
from directory.services.accounts import accounts
from directory.services.accounts.passwords import verify_password
from directory.services.catalog.fields import filled
from directory.services.data import wholesale
from directory.services.data.wholesale import Draft
from tests.support.factories import PASSWORD, World


@pytest.fixture
def run(app: Flask) -> Any:
    """Runs a command."""
    runner = app.test_cli_runner(catch_exceptions=False)
    return lambda *arguments: runner.invoke(args=list(map(str, arguments)))


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "USERS_AT_ONCE", 7)
    monkeypatch.setattr(synthetic, "PROJECTS_AT_ONCE", 9)
    monkeypatch.setattr(synthetic, "VOTES_AT_ONCE", 10)
    monkeypatch.setattr(bulk, "INSERTED_AT_ONCE", 4)


def size(model: Any, *conditions: Any) -> int:
    return db.session.scalar(select(func.count()).select_from(model).where(*conditions)) or 0


@pytest.mark.usefixtures("small_chunks")
def test_the_numbers_are_those_asked_for_and_everything_kept_agrees(app: Flask, run: Any) -> None:
    result = run("seed", "--projects", 100, "--users", 30, "--votes", 500)
    assert result.exit_code == 0
    assert result.output.startswith("Seeded 100 projects, 30 users and 500 votes.\n")
    with app.app_context():
        assert [size(model) for model in (Project, User, Upvote)] == [100, 30, 500]
        states = [size(Project, Project.status == status) for status in Status]
        assert states == [90, 7, 3]
        actions = ("project.submitted", "project.approved", "project.rejected")
        assert [size(AuditEntry, AuditEntry.action == action) for action in actions] == [100, 90, 3]
        assert size(AuditEntry, AuditEntry.waited_seconds > 0) == 93
        assert size(Upvote, Upvote.project_id.in_(select(Project.id).where(Project.status != "live"))) == 0
    assert run("recount", "--check").output == "Counted 100 projects and 500 votes: all is right.\n"


def test_votes_and_categories_follow_zipf(app: Flask, run: Any) -> None:
    run("seed", "--projects", 400, "--users", 200, "--votes", 4000)
    with app.app_context():
        votes = list(db.session.scalars(select(Project.upvotes).order_by(Project.upvotes.desc()).limit(100)))
        assert votes[0] == 200  # nobody votes twice
        assert votes[1] > 3 * votes[9] > 0
        categories = list(db.session.scalars(select(Category.live_projects).order_by(Category.id)))
        assert categories[0] > 2 * categories[-1] > 0


def test_nobody_acts_before_joining_or_votes_before_the_publication_or_in_the_future(app: Flask, run: Any) -> None:
    run("seed", "--projects", 60, "--users", 40, "--votes", 900)
    with app.app_context():
        joined = dict(db.session.query(User.id, User.created_at).all())
        published = dict(db.session.query(Project.id, Project.published_at).all())
        for vote in db.session.scalars(select(Upvote)):
            assert joined[vote.user_id] <= vote.created_at
            assert published[vote.project_id] <= vote.created_at
        for project in db.session.scalars(select(Project).order_by(Project.id)):
            assert joined[project.owner_id] <= project.submitted_at == project.created_at
            assert project.submitted_at <= project.updated_at
        ids = list(db.session.scalars(select(Project.id).order_by(Project.submitted_at)))
        assert ids == sorted(ids)
        for moment in (Project.updated_at, Upvote.created_at, User.created_at, AuditEntry.at):
            assert db.session.scalar(select(func.max(moment))) < now()


def test_made_up_accounts_and_projects_would_pass_the_api(app: Flask, run: Any) -> None:
    result = run("seed", "--projects", 80, "--users", 20)
    password = result.output.split()[-1]
    with app.app_context():
        users = list(db.session.scalars(select(User)))
        for user in users:
            given = {"username": user.username, "email": user.email, "password": password}
            assert RegisterInput().load(given) == given
        assert verify_password(users[0].password_hash, password)
        for project in db.session.scalars(select(Project)):
            names = ("title", "tagline", "description", "url", "repository_url", "tags")
            given = {"category": "databases", **{name: getattr(project, name) for name in names}}
            assert ProjectInput().load(given) == given


def test_the_same_seed_makes_up_the_same(app: Flask, run: Any) -> None:
    for seed in (5, 5, 6):
        run("seed", "--projects", 20, "--users", 10, "--votes", 40, "--random-seed", seed, "--force")
    with app.app_context():
        columns = (Project.title, Project.tagline, Project.description, Project.status, Project.upvotes)
        rows = [tuple(row) for row in db.session.query(*columns).order_by(Project.id)]
    assert rows[:20] == rows[20:40]
    assert rows[:20] != rows[40:]


def test_what_comes_afterwards_gets_ids_of_its_own(app: Flask, run: Any, world: World) -> None:
    earlier = world.project(status="live")
    run("seed", "--projects", 10, "--users", 10, "--force")
    later = world.project(status="live", votes=2)
    assert later == earlier + 11
    assert run("recount").exit_code == 0


def test_sizes_left_out_follow_from_the_projects(run: Any) -> None:
    assert run("seed", "--projects", 40).output.startswith("Seeded 40 projects, 20 users and 400 votes.\n")
    assert run("seed", "--projects", 4, "--force").output.startswith("Seeded 4 projects, 10 users and 20 votes.\n")
    assert run("seed", "--projects", 0, "--users", 3).exit_code == 1
    assert run("seed", "--projects", 0, "--users", 3, "--force").output.startswith("Seeded 0 projects, 3 users and 0")


def test_more_votes_than_there_is_room_for_are_refused_before_anything_is_added(app: Flask, run: Any) -> None:
    result = run("seed", "--projects", 10, "--users", 3, "--votes", 28)
    assert result.exit_code == 1
    assert result.stderr == "Error: votes: 9 live projects and 3 users allow at most 27.\n"
    with app.app_context():
        assert size(User) == size(Category) == 0
    assert run("seed", "--projects", 10, "--users", 3, "--votes", 27).exit_code == 0


@pytest.mark.usefixtures("small_chunks")
def test_a_chunk_whose_transaction_is_lost_is_made_again_as_it_was(app: Flask, run: Any) -> None:
    seen: list[Any] = []
    with app.app_context():
        for step in Plan(Sizes(30, 10, 60), seed=1, password_hash="x").steps():
            for lost in (True, False):
                try:
                    with writing():
                        step.work()
                        rows = db.session.query(Upvote.user_id, Upvote.project_id, Upvote.created_at)
                        seen.append((lost, sorted(map(tuple, rows)), size(Project), size(User)))
                        if lost:
                            raise ZeroDivisionError
                except ZeroDivisionError:
                    pass
        for before, after in pairwise(seen):
            assert before[1:] == after[1:] or not before[0]
        assert [size(model) for model in (Project, User, Upvote)] == [30, 10, 60]
    assert run("recount").exit_code == 0


@pytest.mark.parametrize(
    ("total", "size", "most"), [(0, 5, 3), (100, 10, 50), (99, 10, 10), (100, 10, 10), (7, 50, 2), (1, 1, 1), (0, 0, 9)]
)
def test_shares_sum_up_and_keep_their_bound(total: int, size: int, most: int) -> None:
    shares = list(zipf.shares(total, size, most))
    assert len(shares) == size
    assert sum(shares) == total
    assert all(0 <= share <= most for share in shares)
    assert all(before - after >= -1 for before, after in pairwise(shares))


def test_a_url_that_an_owner_has_already_is_refused_by_its_name(app: Flask, world: World) -> None:
    ida = world.user("ida")
    project = world.project(ida, url="https://example.org/taken")
    draft = Draft(
        owner_id=ida.id,
        category_id=1,
        fields=filled({"title": "Taken", "tagline": "Taken", "url": "http://www.example.org/taken/"}),
        status=Status.PENDING,
        submitted_at=now(),
        decided_at=None,
    )
    with app.app_context(), pytest.raises(Duplicate):
        transaction(lambda: wholesale.write([draft], decided_by=None))
    assert world.row(project) is not None


def test_without_the_bench_numbers_are_refused_and_the_demo_is_not(
    monkeypatch: pytest.MonkeyPatch, app: Flask, run: Any
) -> None:
    monkeypatch.setitem(sys.modules, "bench.synthetic", None)
    refused = run("seed", "--projects", 10)
    assert (refused.exit_code, refused.stderr.startswith("Error: Numbers need the folder bench/")) == (1, True)
    with app.app_context():
        assert size(Project) == size(User) == 0
    assert run("seed").exit_code == 0


def test_a_plan_needs_live_projects_for_its_votes() -> None:
    with pytest.raises(Invalid):
        Plan(Sizes(0, 5, 1), seed=1, password_hash="x")


def test_users_of_a_made_up_directory_can_sign_in(app: Flask, run: Any) -> None:
    password = run("seed", "--projects", 5, "--users", 10).output.split()[-1]
    with app.app_context():
        accounts.authenticate(db.session.scalars(select(User)).first(), password)
    assert password != PASSWORD
