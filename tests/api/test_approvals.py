"""Approvals by several people over HTTP: what answers say, to whom, and what a bulk decision makes of them."""

import json
import logging
from datetime import datetime
from typing import Any

import pytest
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families as parse

from directory.http import readiness
from tests.support.factories import Api, World
from tests.support.reviewing import NOTIFYING, decisions, outbox

REQUIRED = {"APPROVALS_REQUIRED": "2"}


@pytest.fixture
def two(make_app: Any) -> Flask:
    return make_app(**REQUIRED, **NOTIFYING)  # type: ignore[no-any-return]


class People:
    """An administrator and two reviewers, over an application."""

    def __init__(self, app: Flask, world: World) -> None:
        world.category("tools")
        self.users = {"root": world.admin("root"), "rev": world.reviewer(username="rev")}
        self.users["some"] = world.reviewer("tools", username="some")
        self.root, self.rev, self.some = (Api(app, world.caller(each).token) for each in self.users.values())

    def approval_of(self, name: str) -> dict[str, Any]:
        return {"id": self.users[name].id, "username": name}


@pytest.fixture
def people(two: Flask, world: World) -> People:
    return People(two, world)


def approve(caller: Api, project: int, under: str = "review", **headers: str) -> Any:
    return caller.put(f"/api/{under}/projects/{project}/approve", {}, headers=headers)


def names(answer: Any) -> list[str]:
    return [each["user"]["username"] for each in answer["approvals"]["given"]]


@pytest.mark.parametrize("first", ["review", "admin"])
def test_the_first_of_two_leaves_it_pending_and_the_second_publishes(
    two: Flask, world: World, people: People, first: str
) -> None:
    project = world.project(status="pending")
    caller, name = (people.root, "root") if first == "admin" else (people.rev, "rev")
    answer = approve(caller, project, first, **{"If-Match": '"1"'})
    assert (answer.status_code, answer.json["status"], answer.json["version"]) == (200, "pending", 1)
    assert answer.json["approvals"]["required"] == 2
    [given] = answer.json["approvals"]["given"]
    assert given == {"user": people.approval_of(name), "at": given["at"]}
    assert datetime.fromisoformat(given["at"]).tzinfo is not None
    assert outbox(two) == []
    again = approve(caller, project, first, **{"If-Match": '"1"'})
    assert (again.status_code, again.json) == (200, answer.json)
    last = approve(people.some, project, **{"If-Match": '"1"'})
    assert (last.status_code, last.json["status"], last.json["approvals"]) == (200, "live", None)
    assert [event["type"] for event in outbox(two)] == ["project.approved"]
    assert outbox(two)[0]["data"]["approved_by"] == people.approval_of("some")
    assert decisions(two) == ["project.approval_given", "project.approved"]
    assert approve(caller, project, first).json["approvals"] is None


def test_reviewers_and_administrators_see_the_approvals_and_others_do_not(
    two: Flask, world: World, people: People
) -> None:
    ada = world.user()
    owner = Api(two, world.caller(ada).token)
    project = world.project(ada, "pending")
    before = owner.get(f"/api/projects/{project}")
    approve(people.rev, project)
    for path, caller in (("review", people.some), ("admin", people.root)):
        [item] = caller.get(f"/api/{path}/projects?waiting=true").json["items"]
        assert names(item) == ["rev"]
    one = people.some.get(f"/api/review/projects/{project}")
    assert names(one.json) == ["rev"]
    for caller in (owner, people.root):
        assert "approvals" not in caller.get(f"/api/projects/{project}").json
    after = owner.get(f"/api/projects/{project}")
    assert (after.json, after.headers["ETag"]) == (before.json, before.headers["ETag"])
    assert [each["event"] for each in owner.get(f"/api/projects/{project}/timeline").json["items"]] == ["submitted"]
    assert "approval" not in owner.get("/api/auth/me/export").get_data(as_text=True)
    entries = people.some.get(f"/api/review/projects/{project}/history").json["items"]
    assert [entry["action"] for entry in entries] == ["project.approval_given", "project.submitted"]


def test_nothing_that_waits_has_no_approvals_and_nor_has_what_one_person_approves(
    app: Flask, two: Flask, world: World, people: People
) -> None:
    live, rejected, pending = world.project(), world.project(status="rejected"), world.project(status="pending")
    owner = world.user()
    refused = world.project(owner)
    world.revise(refused, owner, title="Changed")
    assert people.rev.put(f"/api/review/projects/{refused}/reject", {"reason": "No."}).status_code == 200
    found = {item["id"]: item["approvals"] for item in people.rev.get("/api/review/projects").json["items"]}
    assert found == {live: None, rejected: None, refused: None, pending: {"required": 2, "given": []}}
    alone = Api(app, people.rev.token)
    assert [each["approvals"] for each in alone.get("/api/review/projects").json["items"]] == [None] * 4
    assert approve(alone, pending).json["status"] == "live"


@pytest.mark.parametrize(
    ("status", "decision", "after"), [("pending", "reject", "rejected"), ("live", "unpublish", "pending")]
)
def test_for_every_other_decision_one_person_is_enough(
    two: Flask, world: World, people: People, status: str, decision: str, after: str
) -> None:
    project = world.project(status=status)
    answer = people.rev.put(f"/api/review/projects/{project}/{decision}", {"reason": "No."})
    assert (answer.status_code, answer.json["status"], decisions(two)) == (200, after, [f"project.{decision}ed"])


def test_an_approval_is_taken_back(two: Flask, world: World, people: People) -> None:
    project = world.project(status="pending", category="tools")
    path = f"/api/review/projects/{project}/approval"
    assert people.rev.delete(path).status_code == 404
    approve(people.rev, project)
    world.project(status="pending")
    assert people.some.delete(path).status_code == 404
    assert people.rev.delete(path).status_code == 204
    assert people.rev.delete(path).status_code == 404
    assert people.rev.get(f"/api/review/projects/{project}").json["approvals"]["given"] == []
    assert decisions(two) == ["project.approval_given", "project.approval_withdrawn"]
    approve(people.some, project)
    assert world.stored(project)["status"] == "pending"


def test_ones_own_approval_outside_of_ones_categories_is_not_found(two: Flask, world: World, people: People) -> None:
    project = world.project(status="pending", category="games")
    assert approve(people.some, project).status_code == 404
    path = "/api/review/projects/{}/approval"
    unseen, absent = (people.some.delete(path.format(each)) for each in (project, 999_999))
    seen = people.rev.delete(path.format(project))
    assert (unseen.status_code, unseen.json["detail"]) == (404, absent.json["detail"])
    assert (seen.status_code, seen.json["detail"] == absent.json["detail"]) == (404, False)
    assert approve(people.rev, project).json["approvals"]["given"] != []


def test_in_bulk_an_approval_that_moves_nothing_is_202(two: Flask, world: World, people: People) -> None:
    owner = world.user()
    fresh, begun, revised = world.project(status="pending"), world.project(status="pending"), world.project(owner)
    other = world.project(status="rejected")
    world.revise(revised, owner, title="Later")
    approve(people.rev, begun)
    body = {"decision": "approve", "ids": [revised, fresh, begun, other]}
    for _ in range(2):
        items = people.some.post("/api/review/projects/decisions", body).json["items"]
        assert [(item["id"], item["status"]) for item in items] == [
            (revised, 202), (fresh, 202), (begun, 200), (other, 409),
        ]  # fmt: skip
        assert [set(item) for item in items[:3]] == [{"id", "status", "project"}] * 3
        assert [names(item["project"]) for item in items[:2]] == [["some"], ["some"]]
        assert items[2]["project"]["approvals"] is None
    items = people.root.post("/api/admin/projects/decisions", body).json["items"]
    assert [item["status"] for item in items] == [200, 200, 200, 409]
    assert sorted(each["type"] for each in outbox(two)) == ["project.approved", "project.approved", "project.edited"]
    assert decisions(two).count("project.approval_given") == 3


def test_a_change_of_ones_categories_voids_the_approvals_outside_of_them(
    two: Flask, world: World, people: People
) -> None:
    tools, games = (world.project(status="pending", category=category) for category in ("tools", "games"))
    for project in (tools, games):
        approve(people.rev, project)
    world.make_reviewer(people.users["rev"], "tools")
    found = {item["id"]: item for item in people.root.get("/api/admin/projects?waiting=true").json["items"]}
    assert [names(found[project]) for project in (tools, games)] == [["rev"], []]
    world.make_reviewer(people.users["rev"])
    assert names(people.root.get(f"/api/review/projects/{games}").json) == []


def test_an_administrators_edit_needs_no_approval(two: Flask, world: World, people: People) -> None:
    live = world.project()
    answer = people.root.put(f"/api/projects/{live}", {"title": "At once"})
    assert (answer.json["title"], answer.json["status"], answer.json["revision"]) == ("At once", "live", None)


def test_what_is_imported_live_needs_none(two: Flask, world: World, people: People) -> None:
    row = {"title": "Imported", "tagline": "A thing", "url": "https://imported.example", "category": "tools"}
    arguments = ["import", "-", "--status", "live", "--owner", "root"]
    ran = two.test_cli_runner().invoke(args=arguments, input=json.dumps(row))
    assert ran.exit_code == 0, ran.output
    [item] = people.root.get("/api/admin/projects").json["items"]
    assert (item["status"], item["approvals"]) == ("live", None)


def test_categories_that_too_few_people_review_are_told(
    make_app: Any, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    for category in ("tools", "games"):
        world.category(category)
    two, one = make_app(**REQUIRED), make_app()
    root, some = world.admin(), world.reviewer("tools")
    world.user(role="admin", status="suspended")
    tools, games = ({"slug": slug, "name": slug.title()} for slug in ("tools", "games"))

    def told(app: Flask, by: Any) -> Any:
        return Api(app, world.caller(by).token).get("/api/review/summary").json["too_few_reviewers"]

    assert (told(two, root), told(two, some), told(one, root)) == ([games], [], [])
    with caplog.at_level(logging.WARNING, "directory.http.readiness"):
        readiness.report(two)
        readiness.report(one)
    [line] = [record for record in caplog.records if "fewer people" in record.getMessage()]
    assert (line.required, line.categories) == (2, "games")  # type: ignore[attr-defined]
    world.make_reviewer(some, "games")
    assert (told(two, root), told(two, some)) == ([tools], [])
    world.make_reviewer(some)
    assert told(two, root) == []


def test_what_waits_for_more_approvals_is_a_metric(make_app: Any, world: World) -> None:
    app = make_app(METRICS_ENABLED="true", **REQUIRED)
    people = People(app, world)
    for project in [world.project(status="pending") for _ in range(3)][:2]:
        approve(people.rev, project)
    scrape = {family.name: family.samples[0].value for family in parse(Api(app).get("/metrics").text) if family.samples}
    assert scrape["directory_approvals_pending"] == 2
