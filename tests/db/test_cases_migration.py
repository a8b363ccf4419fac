"""Migration 0066: the case of each project, for every state that a review can be in, before and after it."""

from collections.abc import Callable, Iterator
from typing import Any

import flask_migrate
import pytest
from flask import Flask
from sqlalchemy import case, inspect, select, text

from directory.extensions import db
from directory.models import Review
from directory.services import health
from directory.services.data import counter_checks, recount
from tests.conftest import Database
from tests.pages.test_states import STATES, Scene
from tests.support.factories import World
from tests.support.mailbox import Mailbox

pytestmark = [pytest.mark.direct("migrates"), pytest.mark.usefixtures("at_head_afterwards")]
BEFORE, MOVED = "0065", "0066"
# The columns of before, as 0.2.0 reads them.
READ = (
    "SELECT p.status, p.rejection_reason, p.owner_since, p.closes_at, p.change_requests, p.held_until, p.appealed_at, "
    "p.measured_from, p.reminded_at, p.decided_at, p.decided_by, r.changes, r.rejected, r.category, r.reason, "
    "r.submitted_at, r.waited_since, r.owner_since, r.held_until, r.closes_at, r.change_requests "
    "FROM projects p LEFT JOIN revisions r ON r.project_id = p.id ORDER BY p.id"
)
AT = "2026-01-0{} 00:00:00.000000"
OLD = {
    "taken down, and appealed against": (
        ("status = 'pending', owner_since = '{2}', appealed_at = '{4}', decided_at = '{2}', decided_by = 7, "
        "rejection_reason = 'Sold.'"), None,
        {"kind": "submission", "turn": "appeal", "since": 4, "asked": "unpublished", "measured_from": 3, "place": 1,
         "reason": "Sold.", "decided_at": 2, "decided_by": 7, "outcome": None},
    ),
    "asked four times": (
        ("status = 'pending', owner_since = '{3}', closes_at = '{9}', change_requests = 4, measured_from = '{2}', "
        "reminded_at = '{5}'"), None,
        {"turn": "owner", "since": 3, "until": 9, "asked": "changes_requested", "requests": 4, "measured_from": 2,
         "reminded_at": 5, "place": 1},
    ),
    "held": (
        "status = 'pending', held_until = '{9}'", None, {"turn": "rule", "since": 1, "until": 9, "place": 1},
    ),
    "rejected in the end, because no answer came": (
        "status = 'rejected', rejection_reason = 'No answer within 30 days.', decided_at = '{5}'", None,
        {"turn": None, "outcome": "rejected_by_time", "since": 5, "decided_by": None, "place": 1},
    ),
    "imported as rejected": (
        "status = 'rejected', rejection_reason = 'No.'", None,
        {"turn": None, "outcome": "rejected", "reason": "No.", "decided_at": None},
    ),
    "changes, asked, of another category": (
        "version = 2",
        ("changes = '{{\"title\": \"Y\"}}', category = 'tools', submitted_at = '{3}', owner_since = '{4}', "
        "closes_at = '{9}', change_requests = 1"),
        {"kind": "changes", "turn": "owner", "asked": "changes_requested", "since": 4, "until": 9, "place": 3,
         "category": "tools", "changes": {"title": "Y"}, "requests": 1, "outcome": None},
    ),
    "changes, rejected, and appealed against": (
        "appealed_at = '{6}', decided_at = '{5}', decided_by = 7",
        ("changes = '{{}}', rejected = '{{\"title\": \"Y\", \"category\": \"tools\"}}', waited_since = '{3}', "
        "reason = 'No.'"),
        {"kind": "changes", "turn": "appeal", "since": 6, "place": 3, "outcome": "rejected", "reason": "No.",
         "changes": {"title": "Y", "category": "tools"}, "category": None, "decided_at": 5, "decided_by": 7},
    ),
}  # fmt: skip


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with Mailbox() as one:
        yield one


@pytest.fixture
def app(make_app: Any, mailbox: Mailbox) -> Flask:
    """As the states of the pages are reached."""
    given: Flask = make_app(APPEALS="on", **mailbox.settings)
    return given


def cases() -> list[tuple[Any, ...]]:
    # Since when one is closed is read by nobody.
    since = case((Review.turn.is_not(None), Review.since))
    columns = [column for column in Review.__table__.c if column.name not in {"id", "since"}]
    query = select(since, *columns).where(Review.is_current).order_by(Review.project_id)
    return [tuple(row) for row in db.session.execute(query)]


def faults() -> list[Any]:
    return recount.look(lambda number: number > 0).faults + counter_checks.look_beside()


@pytest.mark.parametrize("state", STATES)
def test_each_state_is_as_it_was_after_a_migration_back_and_forth(
    app: Flask, mailbox: Mailbox, database: Database, state: str
) -> None:
    scene = Scene(app, mailbox)
    reach: Callable[[Scene], Any] = STATES[state][0]
    reach(scene)

    def shown() -> list[Any]:
        own = [scene.owner.get(f"/api/projects{path}").json for path in (f"/{scene.id}", "?owner=me")]
        queue = [scene.eve.get(f"/api/review/{path}").json for path in ("projects", f"projects/{scene.id}", "summary")]
        return [*own, *queue, scene.pages()]

    before = shown()
    with app.app_context():
        stored = cases()
        db.session.remove()
        flask_migrate.downgrade(revision=BEFORE)
        with db.engine.connect() as connection:
            old = connection.execute(text(READ)).all()
        flask_migrate.upgrade(revision=MOVED)
        with db.engine.connect() as connection:  # processes of before read on
            assert connection.execute(text(READ)).all() == old
        flask_migrate.upgrade()
        assert cases() == stored
        assert faults() == []
        assert "revisions" not in inspect(db.engine).get_table_names()
        db.session.remove()
    assert shown() == before


@pytest.mark.parametrize("state", OLD)
def test_what_the_version_before_has_written_becomes_a_case(
    app: Flask, world: World, database: Database, state: str
) -> None:
    project, of_revision, expected = OLD[state]
    number = world.project()
    times = [AT.format(n) for n in range(10)]
    with app.app_context():
        flask_migrate.downgrade(revision=BEFORE)
        with db.engine.begin() as connection:
            given = f"submitted_at = '{times[1]}', {project.format(*times)}"
            connection.exec_driver_sql(f"UPDATE projects SET {given} WHERE id = {number}")
            if of_revision:
                connection.exec_driver_sql(f"INSERT INTO revisions (project_id, changes) VALUES ({number}, '{{}}')")
                connection.exec_driver_sql(f"UPDATE revisions SET {of_revision.format(*times)}")
        flask_migrate.upgrade()
        found = db.session.scalars(select(Review)).one()
        for name, value in expected.items():
            stored = getattr(found, name)
            is_time = name in {"since", "until", "place", "measured_from", "decided_at", "reminded_at"}
            assert (f"{stored:%d}".lstrip("0") if is_time and stored else stored) == (
                str(value) if is_time and value else value
            ), name
        assert [each for each in faults() if each.kind != "revision"] == []


@pytest.mark.parametrize("state", ["asked, never live", "changes, asked", "an appeal of what was taken down is open"])
def test_a_downgrade_in_the_middle_of_an_upgrade_knows_what_the_new_version_has_done(
    app: Flask, mailbox: Mailbox, database: Database, state: str
) -> None:
    scene = Scene(app, mailbox)
    STATES[state][0](scene)
    with app.app_context():
        flask_migrate.downgrade(revision=BEFORE)
        flask_migrate.upgrade(revision=MOVED)
        with db.engine.connect() as connection:
            old = connection.execute(text(READ)).all()
        flask_migrate.downgrade(revision=BEFORE)
        with db.engine.connect() as connection:
            assert connection.execute(text(READ)).all() == old
        flask_migrate.upgrade(revision=health.NEEDED)  # what this version needs
        db.session.remove()
    scene.decided("approve")
    with app.app_context():
        flask_migrate.downgrade(revision=BEFORE)
        with db.engine.connect() as connection:
            (found,) = connection.execute(text(READ)).all()
        flask_migrate.upgrade()
        db.session.remove()
    assert found.status == "live"
    assert {value for value in found[1:] if value is not None} == {0}  # no request of the project


def test_after_a_downgrade_the_version_before_has_its_triggers(app: Flask, world: World, database: Database) -> None:
    number = world.project()
    with app.app_context():
        flask_migrate.downgrade(revision=BEFORE)
        with db.engine.begin() as connection:
            connection.exec_driver_sql(f"INSERT INTO revisions (project_id, changes) VALUES ({number}, '{{}}')")
            connection.exec_driver_sql(f"UPDATE projects SET status = 'pending' WHERE id = {number}")
            assert connection.exec_driver_sql("SELECT count(*) FROM revisions").scalar() == 0
            triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            if database.backend == "postgresql":
                triggers = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
            names = {*connection.exec_driver_sql(triggers).scalars()}
            assert any(name.startswith("revisions_pictured") for name in names)
        flask_migrate.upgrade()
