"""Picks: who picks what, what a pick changes and what it leaves, its lists, and what is told of it."""

import json
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory import events
from directory.extensions import db
from directory.models import AuditEntry, Delivery, now
from directory.services.data import counter_checks, recount
from directory.services.delivery.channels import MAIL
from directory.services.delivery.leases import Lease
from directory.services.delivery.mail import messages
from tests.conftest import Database
from tests.support import concurrent_calls
from tests.support.factories import Api, World
from tests.support.mailbox import Mailbox
from tests.support.reviewing import ENDPOINT

PICKS = [events.PROJECT_PICKED, events.PROJECT_UNPICKED]
HOOK = json.dumps(
    [{**ENDPOINT, "name": "hook", "events": PICKS}, {**ENDPOINT, "url": "https://other.example/x", "name": "default"}]
)
LIST = "/api/projects?picked=true"


def path(project: int) -> str:
    return f"/api/review/projects/{project}/pick"


def ids(answer: Any) -> list[int]:
    assert answer.status_code == 200, answer.json
    return [item["id"] for item in answer.json["items"]]


def log(admin: Api) -> list[dict[str, Any]]:
    """The entries about picks, the oldest first."""
    found = admin.get("/api/admin/audit?limit=100").json["items"][::-1]
    return [entry for entry in found if entry["action"] in PICKS]


def deliveries(app: Flask) -> list[tuple[str, str, Any]]:
    with app.app_context():
        rows = db.session.scalars(select(Delivery).where(Delivery.event.in_(PICKS)).order_by(Delivery.id))
        return [(row.event, row.endpoint, json.loads(row.payload)["data"]) for row in rows]


def mailed(app: Flask) -> Any:
    """The only mail about picks, as it would be sent."""
    [server] = [each for each in app.extensions["webhooks"] if each.format == MAIL]
    with app.app_context():
        row = db.session.scalars(select(Delivery).where(Delivery.event.in_(PICKS), Delivery.endpoint == MAIL)).one()
        return messages.of_lease(Lease(row.id, row.webhook_id, row.event, row.payload, 0, "", now()), server).content


def test_a_reviewer_picks_a_live_project_says_why_in_other_words_and_takes_it_back(
    make_app: Any, world: World, mailbox: Mailbox
) -> None:
    app = make_app(WEBHOOK_ENDPOINTS=HOOK, **{**mailbox.settings, "SITE_URL": "https://dir.example"})
    ada, admin = world.user("ada"), Api(app, world.caller(world.admin("grace")).token)
    lamp = world.project(ada, votes=2, title="Lamp")
    linus = Api(app, world.caller(world.reviewer("tools", username="linus")).token)
    elsewhere = Api(app, world.caller(world.reviewer(world.category("games"))).token)
    public = f"/api/projects/{lamp}"
    before, tag = Api(app).get(public).json, Api(app).get(public).headers["ETag"]
    assert before["picked"] is None

    picked = linus.put(path(lamp), {"words": "  It shines e\u0301ven by day. "})
    assert picked.status_code == 200
    pick = picked.json["picked"]
    assert pick == {"at": pick["at"], "words": "It shines \u00e9ven by day."}
    shown = Api(app).get(public)
    assert shown.json == {**before, "picked": pick}  # no other member, and no version
    assert shown.headers["ETag"] != tag
    assert linus.put(path(lamp), {"words": pick["words"]}).json == picked.json
    reworded = admin.put(path(lamp), {"words": "A light."}).json["picked"]
    assert reworded == {"at": pick["at"], "words": "A light."}
    assert linus.delete(path(lamp)).status_code == linus.delete(path(lamp)).status_code == 204
    assert Api(app).get(public).json == before

    facts = [(entry["actor"]["username"], entry["action"], entry["from"], entry["to"]) for entry in log(admin)]
    assert facts == [
        ("linus", "project.picked", "live", "live"), ("grace", "project.picked", "live", "live"),
        ("linus", "project.unpicked", "live", "live"),
    ]  # fmt: skip
    changes = {"words": {"from": pick["words"], "to": "A light."}}
    assert [entry["changes"] for entry in log(admin)] == [None, changes, None]
    told = [(event, endpoint, data["project"]["picked"]) for event, endpoint, data in deliveries(app)]
    assert sorted(told[:2], key=lambda each: each[1]) == [
        ("project.picked", "hook", pick), ("project.picked", MAIL, pick),
    ]  # fmt: skip
    assert told[2:] == [("project.picked", "hook", reworded), ("project.unpicked", "hook", None)]
    [data, *_] = [data for event, endpoint, data in deliveries(app) if endpoint == "hook"]
    assert data["picked_by"]["username"] == "linus"
    mail = mailed(app)
    assert "Your project was picked: “Lamp”" in mail["Subject"]
    assert "The reason: It shines éven by day." in mail.get_content()
    assert f"https://dir.example/p/{lamp}/lamp" in mail.get_content()

    for bad in ({}, {"words": ""}, {"words": " "}, {"words": "a\nb"}, {"words": "\u202e"}, {"words": "x" * 201}):
        assert linus.put(path(lamp), bad).status_code == 422, bad
    assert linus.put(path(lamp), {"words": "x", "at": pick["at"]}).status_code == 422
    assert linus.put(path(lamp), {"words": "x" * 200}).status_code == 200
    for call in ("PUT", "DELETE"):
        assert elsewhere.call(call, path(lamp), {"words": "x"} if call == "PUT" else None).status_code == 404


def test_an_owner_who_wants_no_mail_gets_none_about_a_pick(make_app: Any, world: World, mailbox: Mailbox) -> None:
    app = make_app(WEBHOOK_ENDPOINTS=HOOK, **mailbox.settings)
    ada, bob = world.user("ada"), world.user("bob")
    world.change(ada, notify=False)
    admin = Api(app, world.caller(world.admin()).token)
    quiet, loud = world.project(ada), world.project(bob)
    for project in (quiet, loud):
        assert admin.put(path(project), {"words": "Good."}).status_code == 200
    told = [(endpoint, data["project"]["id"]) for _event, endpoint, data in deliveries(app)]
    assert sorted(told) == [("hook", quiet), ("hook", loud), (MAIL, loud)]


def test_what_is_not_live_is_not_picked_and_what_leaves_keeps_its_pick_and_is_not_listed(
    app: Flask, world: World, api: Api, admin: Api
) -> None:
    ada = world.user("ada")
    owner = world.caller(ada)
    for status in ("pending", "rejected"):
        project = world.project(ada, status)
        for answer in (admin.put(path(project), {"words": "Good."}), admin.delete(path(project))):
            assert (answer.status_code, answer.json["code"]) == (409, "invalid_transition")
            assert answer.json["current_status"] == status
    lamp = world.project(ada)
    pick = admin.put(path(lamp), {"words": "Good."}).json["picked"]
    admin.put(f"/api/admin/projects/{lamp}/unpublish")
    assert owner.get(f"/api/projects/{lamp}").json["picked"] == pick
    for query in ("picked=true", "picked=true&owner=me", "picked=true&status=pending&owner=me"):
        assert ids(owner.get(f"/api/projects?{query}")) == []
    admin.put(f"/api/admin/projects/{lamp}/approve")
    assert ids(api.get(LIST)) == ids(owner.get(f"{LIST}&owner=me")) == [lamp]
    assert api.get(f"/api/projects/{lamp}").json["picked"] == pick
    assert ids(owner.get(f"{LIST}&status=pending")) == []
    owner.delete(f"/api/projects/{lamp}")
    assert ids(api.get(LIST)) == []
    again = world.project(ada)
    assert api.get(f"/api/projects/{again}").json["picked"] is None


@pytest.mark.parametrize("self_review", ["allow", "refuse"])
def test_ones_own_is_picked_unless_nobody_reviews_their_own(make_app: Any, world: World, self_review: str) -> None:
    root = world.admin()
    app, lamp = make_app(SELF_REVIEW=self_review), world.project(root)
    own = Api(app, world.caller(root).token)
    answers = [own.put(path(lamp), {"words": "Mine."}), own.delete(path(lamp))]
    found = [(answer.status_code, (answer.json or {}).get("code")) for answer in answers]
    refused = (403, "own_submission")
    assert found == ([(200, None), (204, None)] if self_review == "allow" else [refused, refused])


def test_picks_are_listed_latest_first_and_narrowed_and_ordered_as_other_lists(
    app: Flask, world: World, api: Api, admin: Api
) -> None:
    fan = world.user()
    projects = [world.project(votes=votes, tags=["x"] if votes else [], title=f"Lamp {votes}") for votes in (1, 0, 2)]
    world.project(title="Lamp unpicked", votes=3)
    first, second, third = projects
    world.vote(first, fan)
    for project in (second, third, first):
        assert admin.put(path(project), {"words": "Good."}).status_code == 200
    admin.put(path(second), {"words": "Better."})  # does not move it
    listed = [first, third, second]
    assert ids(api.get(LIST)) == ids(api.get(f"{LIST}&sort=picked")) == listed
    assert ids(api.get(f"{LIST}&q=lamp")) == listed
    assert api.get(LIST).json["pagination"]["total"] == 3
    found = {
        "sort=newest": [third, second, first], "sort=upvotes": [third, first, second], "sort=popular": 3,
        "tag=x": [first, third], "category=tools": listed, "category=games": [], "published=1999": [],
        "tag=x&sort=newest": [third, first], "q=lamp&sort=upvotes": [third, first, second], "owner=nobody": [],
    }  # fmt: skip
    for query, expected in found.items():
        got = ids(api.get(f"{LIST}&{query}"))
        assert (len(got) if isinstance(expected, int) else got) == expected, query
    assert ids(world.caller(fan).get(f"{LIST}&upvoted=me")) == [first]
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = api.get(f"{LIST}&limit=1" + (f"&cursor={cursor}" if cursor else ""))
        seen += ids(answer)
        cursor = answer.json["pagination"]["next_cursor"]
    assert seen == listed
    other = api.get(f"{LIST}&limit=1").json["pagination"]["next_cursor"]
    for query in ("picked=false", "picked=", "sort=picked", "sort=picked&q=lamp", f"cursor={other}"):
        answer = api.get(f"/api/projects?{query}")
        assert answer.status_code == 422, query
        assert answer.json["errors"][0]["parameter"] == query.partition("=")[0]
    assert api.get("/api/projects/facets?picked=true").status_code == 422
    assert all(item["picked"]["words"] in {"Good.", "Better."} for item in api.get(LIST).json["items"])
    feed = api.get("/api/projects.atom?picked=true").text
    places = [feed.index(f"<title>Lamp {votes}</title>") for votes in (1, 2, 0)]
    assert places == sorted(places)
    assert "unpicked" not in feed
    assert "<title>Project Directory: Picked</title>" in feed
    assert api.get(f"/api/projects/{first}").json["picked"]["at"] in feed
    assert api.get("/api/projects.atom?picked=false").status_code == 422


def test_stored_answers_notice_each_change_of_a_pick(make_app: Any, world: World) -> None:
    app, lamp = make_app(RESPONSE_CACHE="true"), world.project(title="Lamp")
    api, admin = Api(app), Api(app, world.caller(world.admin()).token)
    changes = [("PUT", {"words": "One."}), ("PUT", {"words": "Two."}), ("DELETE", None)]
    for method, body in changes:
        reads = [LIST, f"/api/projects/{lamp}", "/api/projects", "/picked"]
        before = [[api.get(each).text for each in reads] for _ in range(2)]
        admin.call(method, path(lamp), body)
        after = [api.get(each).text for each in reads]
        assert all(old != new for old, new in zip(before[1], after, strict=True)), body


def test_the_ways_to_other_databases_and_to_the_owner_have_the_pick(world: World, admin: Api) -> None:
    ada = world.user("ada")
    lamp = world.project(ada)
    pick = admin.put(path(lamp), {"words": "Good."}).json["picked"]
    [project] = world.caller(ada).get("/api/auth/me/export").json["projects"]
    assert project["picked"] == pick


def test_of_many_at_once_the_last_one_holds_and_the_log_and_mails_are_those_of_the_changes(
    make_app: Any, world: World, database: Database
) -> None:
    app, lamp = make_app(), world.project(world.user("ada"))
    admins = [world.caller(world.admin()) for _ in range(4)]
    scripts = []
    for n in range(16):
        token = admins[n % 4].token
        calls = [(token, "PUT", path(lamp), {"words": f"Words {n % 3}"}), (token, "DELETE", path(lamp), None)]
        scripts.append(concurrent_calls.shuffled(calls * 3, n))
    answers = concurrent_calls.run(database.url, scripts, processes=2)
    assert {answer["status"] for answer in answers} <= {200, 204, 503}
    shown = Api(app).get(f"/api/projects/{lamp}").json
    words = None
    with app.app_context():
        entries = db.session.scalars(select(AuditEntry).where(AuditEntry.action.in_(PICKS)).order_by(AuditEntry.id))
        for entry in entries:  # each follows the one before
            if entry.action == "project.unpicked":
                assert words is not None
                words = None
            else:
                assert (entry.changes is None) is (words is None)
                words = "?" if entry.changes is None else entry.changes["words"]["to"]
        assert recount.look(lambda number: number > 0).faults == []
        assert counter_checks.look_beside() == []
    assert (shown["picked"] is None) is (words is None)
    if words not in {None, "?"}:
        assert shown["picked"]["words"] == words
    assert shown["version"] == 2
