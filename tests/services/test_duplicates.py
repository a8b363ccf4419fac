"""Duplicates: one owner has one project of a website, or several with different repositories; the database decides."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Project
from directory.services.identity import Caller
from directory.services.review import submissions
from directory.services.text.equal_addresses import are_duplicates
from tests.conftest import Database
from tests.services.test_demotion_races import WAITING
from tests.services.test_equal_addresses import REPOSITORIES
from tests.support import concurrent_calls
from tests.support.factories import Api, World
from tests.support.waiting import until

SITE = "https://tool.example/"
ONE, TWO = "https://github.com/a/one", "https://github.com/a/two"


@pytest.fixture
def ada(world: World) -> Caller:
    world.category()
    return world.user("ada")


@pytest.fixture
def owner(world: World, ada: Caller) -> Api:
    return world.caller(ada)


def body(url: str = SITE, repository: str | None = None, **others: Any) -> dict[str, Any]:
    return {"title": "Tool", "tagline": "?", "category": "tools", "url": url, "repository_url": repository, **others}


def addresses(app: Flask) -> list[tuple[str, str | None]]:
    with app.app_context():
        return [tuple(row) for row in db.session.execute(select(Project.url, Project.repository_url))]


@pytest.mark.parametrize(("one", "other", "duplicates"), [case for case in REPOSITORIES if case[0] != "not a URL"])
def test_the_database_refuses_what_the_rule_calls_duplicates(
    app: Flask, owner: Api, one: str | None, other: str | None, duplicates: bool
) -> None:
    first = owner.post("/api/projects", body(SITE, one, title="First"))
    second = owner.post("/api/projects", body(f"{SITE}?utm_source=x", other))
    assert (first.status_code, second.status_code) == (201, 409 if duplicates else 201)
    if duplicates:
        assert second.json["errors"][0]["pointer"] == "#/url"
        assert second.json["existing"] == {"id": first.json["id"], "title": "First", "status": "pending"}


def test_fragments_that_select_content_are_two_projects(owner: Api) -> None:
    assert [owner.post("/api/projects", body(f"{SITE}#/{page}")).status_code for page in "ab"] == [201, 201]
    assert owner.post("/api/projects", body(f"{SITE}#top")).status_code == 201
    assert owner.post("/api/projects", body(SITE)).status_code == 409


def test_an_edit_that_makes_a_duplicate_is_refused_at_the_field_that_makes_it(owner: Api) -> None:
    first = owner.post("/api/projects", body(SITE, ONE)).json
    second = owner.post("/api/projects", body(SITE, TWO)).json
    third = owner.post("/api/projects", body("https://other.example")).json
    for project, change, pointer in (
        (second, {"repository_url": None}, "#/repository_url"),
        (second, {"repository_url": f"{ONE}.git"}, "#/repository_url"),
        (third, {"url": SITE}, "#/url"),
        (third, {"url": SITE, "repository_url": ONE}, "#/url"),
    ):
        refused = owner.put(f"/api/projects/{project['id']}", change)
        assert (refused.status_code, refused.json["code"]) == (409, "duplicate")
        assert [error["pointer"] for error in refused.json["errors"]] == [pointer]
        assert refused.json["existing"]["id"] == first["id"]
    moved = owner.put(f"/api/projects/{third['id']}", {"url": SITE, "repository_url": "https://github.com/a/three"})
    assert moved.status_code == 200


def test_a_revision_that_would_make_a_duplicate_is_refused(world: World, ada: Caller, owner: Api) -> None:
    world.project(ada, url=SITE, repository_url=ONE)
    live = world.project(ada, url=SITE, repository_url=TWO)
    refused = owner.put(f"/api/projects/{live}", {"repository_url": None})
    assert (refused.status_code, refused.json["errors"][0]["pointer"]) == (409, "#/repository_url")
    assert owner.put(f"/api/projects/{live}", {"repository_url": f"{TWO}/tree/main/part"}).json["revision"] is not None


def test_a_revision_that_has_become_a_duplicate_is_not_approved(world: World, ada: Caller, owner: Api) -> None:
    live = world.project(ada, url=SITE, repository_url=TWO)
    owner.put(f"/api/projects/{live}", {"repository_url": None})
    assert owner.post("/api/projects", body(SITE, ONE)).status_code == 201
    admin = world.caller(world.admin())
    refused = admin.put(f"/api/admin/projects/{live}/approve")
    assert (refused.status_code, refused.json["code"]) == (409, "duplicate")
    assert owner.get(f"/api/projects/{live}").json["revision"]["changes"] == {"repository_url": None}


def test_other_owners_may_have_the_same_address(world: World, owner: Api) -> None:
    assert owner.post("/api/projects", body()).status_code == 201
    assert world.caller(world.user()).post("/api/projects", body()).status_code == 201


def test_of_submissions_at_once_no_two_are_duplicates(app: Flask, world: World, owner: Api) -> None:
    for number in range(12):
        site = f"https://tool{number}.example"
        calls = [body(site), body(f"{site}/?ref=x", ONE), body(site, TWO), body(f"{site}/#", f"{ONE}.git")]
        calls = concurrent_calls.shuffled(calls, number)
        answers = concurrent_calls.threads(app, [[(owner.token, "POST", "/api/projects", call)] for call in calls])
        assert {answer["status"] for answer in answers} == {201, 409}
    stored = addresses(app)
    assert not any(are_duplicates(*pair) for pair in combinations(stored, 2))
    assert len(stored) >= 12


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("first", "second", "status"), [(None, ONE, 409), (ONE, None, 409), (ONE, TWO, 201)])
def test_a_submission_waits_for_one_of_the_same_address_that_is_not_committed(
    app: Flask, owner: Api, ada: Caller, database: Database, first: str | None, second: str | None, status: int
) -> None:
    with app.app_context(), ThreadPoolExecutor(1) as pool:
        given = body(SITE, first)

        def work() -> Any:
            submissions.submit(given, by=ada, notify=[])
            # The second statement runs while the first is not committed.
            later = pool.submit(owner.post, "/api/projects", body(SITE, second))
            with db.engine.connect() as other:
                until(lambda: other.scalar(text(WAITING)) >= 1)
            return later

        assert transaction(work).result().status_code == status
