"""Sixteen threads: approvals by a reviewer whose role or category is taken away at the same time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.extensions import db
from directory.models import AuditEntry
from tests.conftest import Database
from tests.support.factories import Api, World

APPROVALS = 15
# What is taken, the entry of it, and the refusals: before the request was made, and while it was being made.
LOSSES: list[tuple[dict[str, Any], str, set[tuple[int, str]]]] = [
    ({"role": "member"}, "user.role_changed", {(403, "reviewer_required")}),
    ({"review_categories": ["games"]}, "user.categories_changed", {(404, "not_found"), (403, "reviewer_required")}),
]


@pytest.mark.parametrize(("loss", "entry", "refusals"), LOSSES)
def test_no_approval_is_made_after_the_loss_and_none_is_half_made(
    app: Flask, world: World, database: Database, loss: dict[str, Any], entry: str, refusals: set[tuple[int, str]]
) -> None:
    world.category("games")
    projects = [world.project(status="pending", category="tools") for _ in range(APPROVALS)]
    ada, root = world.reviewer("tools"), world.caller(world.admin())
    by, ready = world.caller(ada), Barrier(APPROVALS + 1, timeout=60)
    for caller in (by, root):
        caller.get("/api/auth/me")  # records the tokens' use

    def together(caller: Api, path: str, body: Any = None) -> tuple[int, str]:
        ready.wait()
        answer = caller.put(path, body)
        return answer.status_code, answer.json.get("code", "")

    with ThreadPoolExecutor(APPROVALS + 1) as pool:
        taking = pool.submit(together, root, f"/api/admin/users/{ada.id}", loss)
        asked = [pool.submit(together, by, f"/api/review/projects/{each}/approve") for each in projects]
        assert taking.result() == (200, "")
        answers = [each.result() for each in asked]

    assert set(answers) <= {(200, ""), *refusals}
    made = [project for project, (status, _) in zip(projects, answers, strict=True) if status == 200]
    assert [each for each in projects if world.stored(each)["status"] == "live"] == made
    with app.app_context():
        found = select(AuditEntry.id, AuditEntry.project_id).where(AuditEntry.action == "project.approved")
        approved = db.session.execute(found).all()
        lost = db.session.scalar(select(AuditEntry.id).where(AuditEntry.action == entry))
    assert sorted(project for _, project in approved) == made
    if database.backend == "sqlite":  # which commits in the order of the ids
        assert all(one < lost for one, _ in approved)
    left = world.project(status="pending", category="tools")
    status = by.put(f"/api/review/projects/{left}/approve").status_code
    assert status in {each for each, _ in refusals}
