"""Delivered at least once, whatever dies: real processes, a scripted receiver. tests/system/chaos kills deliverers."""

import http.client
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from directory.db.transactions import transaction
from directory.models import Project
from directory.services.review import moderation
from tests.conftest import ENVIRONMENT, Database
from tests.support import deliverers
from tests.support.factories import World
from tests.support.outbox import endpoint, put, states
from tests.support.receiver import SECRET, Receiver, hang
from tests.support.serving import WITHIN, serving

pytestmark = [pytest.mark.faults, pytest.mark.slow]


def environment(database: Database, receiver: Receiver) -> dict[str, str]:
    return {
        **ENVIRONMENT,
        "DATABASE_URL": database.url,
        "WEBHOOK_URL": receiver.url,
        "WEBHOOK_SECRET": SECRET,
        "LOG_LEVEL": "ERROR",
    }


def approve(app: Flask, project_id: int, **by: Any) -> None:
    with app.app_context():
        transaction(lambda: moderation.decide(project_id, "approve", **by))


def test_several_deliverers_never_send_the_same_try(app: Flask, database: Database) -> None:
    with Receiver() as receiver:
        with app.app_context():
            put(endpoint(receiver.url), 400)
        with deliverers.running(environment(database, receiver), "--count", 4):
            receiver.wait(lambda _: states(app) == {"delivered": 400})

    assert len(receiver.arrived) == 400
    assert set(receiver.arrived.values()) == {1}


def test_a_notification_leaves_although_the_server_died_before_it_could_answer(
    app: Flask, world: World, database: Database, tmp_path: Path
) -> None:
    token, project_id = world.caller(world.admin()).token, world.project(status="pending")
    with Receiver() as receiver:
        settings = {**environment(database, receiver), "DIES": str(tmp_path / "now")}
        elsewhere = {**settings, "WEBHOOK_WORKER": "false"}
        with serving(elsewhere, tmp_path / "first.log", "tests.support.app_that_is_killed:app") as server:
            (tmp_path / "now").touch()
            with pytest.raises((OSError, http.client.HTTPException)):
                server.request("PUT", f"/api/admin/projects/{project_id}/approve", token)
            server.process.wait(WITHIN)
        assert receiver.received == []

        with serving(settings, tmp_path / "second.log"):
            receiver.wait(lambda r: len(r.received) == 1)

    assert receiver.received[0].verified()["data"]["project"]["id"] == project_id
    row = world.row(project_id)
    assert isinstance(row, Project)
    assert row.status == "live"


def test_no_approval_waits_for_a_receiver_that_hangs(app: Flask, world: World, database: Database) -> None:
    owner, admin = world.user(), world.admin()
    projects = [world.project(owner, status="pending") for _ in range(20)]
    with Receiver(hang()) as receiver:
        to = endpoint(receiver.url)
        with deliverers.running(environment(database, receiver), "--count", 1):
            approve(app, projects[0], by=admin, notify=[to])
            receiver.wait(lambda r: len(r.arrived) == 1)
            for project_id in projects[1:]:
                approve(app, project_id, by=admin, notify=[to])
            # All twenty are done, while the first notification has no answer yet.
            assert states(app) == {"pending": 20}
            receiver.ending.set()
