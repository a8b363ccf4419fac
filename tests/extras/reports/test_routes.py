"""The route that reports a project: by whom, how often, and what becomes of it for the reporter."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from directory.extensions import db
from directory.models import Report
from tests.support.factories import Api, World

BODY = {"kind": "spam", "text": "Advertising."}


def rows(app: Flask) -> list[tuple[Any, ...]]:
    with app.app_context():
        columns = (Report.project_id, Report.reporter_id, Report.kind, Report.text)
        return [tuple(row) for row in db.session.execute(select(*columns).order_by(Report.id))]


def keys(app: Flask) -> list[str]:
    with app.app_context():
        return list(db.session.scalars(select(Report.address_key).order_by(Report.id)))


def path(project: int) -> str:
    return f"/api/projects/{project}/reports"


#                                        anonymous, member
WHO = {"off": (404, 404), "members": (401, 202), "everybody": (202, 202)}


@pytest.mark.parametrize("who", WHO)
def test_who_may_report_is_a_setting_that_is_looked_at_before_the_body_and_the_project(
    make_app: Any, world: World, who: str
) -> None:
    app, project, ada = make_app(REPORTS=who), world.project(), world.user()
    for caller, status in zip((Api(app), Api(app, world.caller(ada).token)), WHO[who], strict=True):
        assert caller.post(path(project), BODY).status_code == status
        if status != 202:
            for odd in (path(project), path(10**9)):
                answer = caller.post(odd, data=b"{", content_type="application/json")
                assert answer.status_code == status
        else:
            assert caller.post(path(10**9), BODY).json["code"] == "not_found"
    assert len(rows(app)) == WHO[who].count(202)


def test_a_second_report_replaces_the_first_with_the_same_answer(make_app: Any, world: World) -> None:
    app, project, ada = make_app(REPORTS="everybody"), world.project(), world.user()
    for caller in (Api(app, world.caller(ada).token), Api(app)):
        first = caller.post(path(project), BODY)
        second = caller.post(path(project), {"kind": "mine", "text": None})
        third = caller.post(path(project), {"kind": "mine"})
        assert {(each.status_code, each.data) for each in (first, second, third)} == {(202, b"")}
    assert rows(app) == [(project, ada.id, "mine", ""), (project, None, "mine", "")]


def test_an_anonymous_caller_is_known_by_a_hash_of_the_address_as_limits_count_it(make_app: Any, world: World) -> None:
    app, project = make_app(REPORTS="everybody"), world.project()
    for address in ("192.0.2.1", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"):
        answer = Api(app).post(path(project), BODY, environ_base={"REMOTE_ADDR": address})
        assert answer.status_code == 202
    found = keys(app)
    assert len({*found}) == len(found) == 3
    assert {len(key) for key in found} == {64}
    other = make_app(REPORTS="everybody", SECRET_KEY="another key of thirty-two characters")
    Api(other).post(path(project), BODY, environ_base={"REMOTE_ADDR": "192.0.2.1"})
    assert len({*keys(app)}) == 4


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["#/kind"]),
        ({"kind": "odd"}, ["#/kind"]),
        ({"kind": "spam", "text": "x" * 1001}, ["#/text"]),
        ({"kind": "spam", "text": "\u202e"}, ["#/text"]),
        ({"kind": "spam", "reporter_id": 1}, ["#/reporter_id"]),
    ],
)
def test_what_makes_no_sense_is_refused(make_app: Any, world: World, body: Any, pointers: list[str]) -> None:
    app = make_app(REPORTS="everybody")
    answer = Api(app).post(path(world.project()), body)
    assert (answer.status_code, [each["pointer"] for each in answer.json["errors"]]) == (422, pointers)
    assert rows(app) == []


def test_reports_have_a_limit_of_their_own_by_user_or_address(make_app: Any, world: World) -> None:
    app, projects = make_app(REPORTS="everybody", RATELIMIT_ENABLED="true"), [world.project() for _ in range(6)]
    for caller in (Api(app), Api(app, world.caller(world.user()).token)):
        statuses = [caller.post(path(project), BODY).status_code for project in projects]
        assert statuses == [202] * 5 + [429]
    assert Api(app).post(path(projects[0]), BODY, environ_base={"REMOTE_ADDR": "192.0.2.9"}).status_code == 202
    assert len(rows(app)) == 11


def test_a_member_who_has_to_confirm_the_address_does_so_before_reporting(make_app: Any, world: World) -> None:
    mail = {"MAIL_URL": "smtp://mail.example.org", "MAIL_FROM": "d@example.org"}
    app = make_app(REPORTS="everybody", REQUIRE_VERIFIED_EMAIL="submit", **mail)
    answer = Api(app, world.caller(world.user()).token).post(path(world.project()), BODY)
    assert (answer.status_code, answer.json["code"]) == (403, "email_not_verified")


def test_a_member_has_their_reports_in_the_export(make_app: Any, world: World) -> None:
    app, ada, project = make_app(REPORTS="members"), world.user(), world.project(title="Lanternfish")
    caller = Api(app, world.caller(ada).token)
    caller.post(path(project), BODY)
    world.caller(world.admin()).delete(f"/api/projects/{project}")
    [report] = caller.get("/api/auth/me/export").json["reports"]
    assert report.pop("created_at") < report.pop("settled_at")
    assert report == {
        "project_id": project, "title": "Lanternfish", **BODY, "outcome": "acted", "reply": None,
    }  # fmt: skip


LIST = "/api/review/reports"


def settle(caller: Api, project: int, **body: Any) -> Any:
    return caller.put(f"/api/review/reports/{project}/settle", body)


@pytest.mark.parametrize("who", WHO)
def test_reviewers_list_and_settle_the_reports_of_their_categories(make_app: Any, world: World, who: str) -> None:
    app, project = make_app(REPORTS=who), world.project(title="Lanternfish")
    world.category("games")
    ada = world.user("ada")
    world.report(project, ada)
    admin, inside, outside, member = (
        Api(app, world.caller(each).token)
        for each in (world.admin(), world.reviewer("tools"), world.reviewer("games"), ada)
    )
    for caller, status in ((Api(app), 401), (member, 403)):
        assert caller.get(f"{LIST}?odd=1").status_code == status
        assert caller.put(f"{LIST}/0/settle", data=b"{").status_code == status
    if who == "off":
        for caller in (admin, inside):
            assert caller.get(f"{LIST}?odd=1").json["code"] == "not_found"
            assert settle(caller, project, odd=1).json["code"] == "not_found"
        return
    assert outside.get(LIST).json["items"] == []
    assert settle(outside, project, odd=1).status_code == 404
    [seen] = inside.get(LIST).json["items"]
    [shown] = admin.get(LIST).json["items"]
    assert (seen["project"]["title"], seen["number"], seen["kinds"]) == ("Lanternfish", 1, {"spam": 1})
    assert "reporter" not in seen["texts"][0]
    assert shown["texts"][0]["reporter"] == {"id": ada.id, "username": "ada"}
    assert inside.get(f"{LIST}?kind=mine").json["items"] == inside.get(f"{LIST}?state=settled").json["items"] == []
    answer = settle(inside, project, outcome="unfounded", reply="We looked.")
    assert (answer.status_code, answer.json["outcome"], answer.json["reply"]) == (200, "unfounded", "We looked.")
    assert settle(inside, project, outcome="unfounded").json == answer.json
    assert inside.get(f"{LIST}?state=settled").json["items"] == [answer.json]
    other = settle(admin, project, outcome="acted")
    assert (other.status_code, other.json["code"]) == (409, "invalid_transition")
    assert inside.get(LIST).json["items"] == []


def test_what_is_odd_in_a_settlement_is_refused_after_access_and_ones_own_project(make_app: Any, world: World) -> None:
    app, owner = make_app(REPORTS="everybody"), world.admin()
    own, project = world.project(owner), world.project()
    caller = Api(app, world.caller(owner).token)
    world.report(own)
    assert settle(caller, own, odd=1).status_code == 422  # nobody else may
    world.reviewer()
    assert (settle(caller, own, odd=1).status_code, settle(caller, own, odd=1).json["code"]) == (403, "own_submission")
    assert settle(caller, project, odd=1).status_code == 404  # nobody has reported it
    world.report(project)
    for body in ({}, {"outcome": "odd"}, {"outcome": "acted", "reply": "x" * 1001}):
        assert settle(caller, project, **body).status_code == 422
    assert settle(caller, project, outcome="acted", reply="").json["reply"] is None


def test_a_list_of_reports_goes_on_by_cursor(make_app: Any, world: World) -> None:
    app, projects = make_app(REPORTS="everybody"), [world.project() for _ in range(3)]
    for project in projects:
        world.report(project)
    admin, found, cursor = Api(app, world.caller(world.admin()).token), [], ""
    while cursor is not None:
        page = admin.get(f"{LIST}?limit=2{cursor and '&cursor=' + cursor}").json
        found += [group["project"]["id"] for group in page["items"]]
        cursor = page["pagination"]["next_cursor"]
    assert found == projects
    assert admin.get(f"{LIST}?limit=101").status_code == 422


def test_the_summary_of_a_reviewer_counts_the_projects_with_open_reports(make_app: Any, world: World) -> None:
    app, tools, games = make_app(REPORTS="members"), world.project(), world.project(category="games")
    for project in (tools, tools, games):
        assert Api(app, world.caller(world.user()).token).post(path(project), BODY).status_code == 202
    some, every = (Api(app, world.caller(world.reviewer(*each)).token) for each in (("games",), ()))

    def numbers() -> list[int]:
        return [by.get("/api/review/summary").json["reports"] for by in (some, every)]

    assert numbers() == [1, 2]
    assert every.put(f"/api/review/reports/{games}/settle", {"outcome": "unfounded"}).status_code == 200
    assert numbers() == [0, 1]


def test_administrators_see_who_reported_with_words_or_without(make_app: Any) -> None:
    app = make_app(REPORTS="everybody")
    world = World(app)
    project = world.project()
    users = [world.user(f"user{number}") for number in range(3)]
    for user in users:
        world.caller(user).post(path(project), {"kind": "spam"})
    world.caller(users[1]).post(path(project), {"kind": "other", "text": "Look."})
    Api(app).post(path(project), {"kind": "spam"})
    [group] = Api(app, world.caller(world.admin()).token).get("/api/review/reports").json["items"]
    made = [(each["kind"], each["reporter"] and each["reporter"]["username"]) for each in group["reports"]]
    assert made == [("spam", None), ("spam", "user2"), ("other", "user1"), ("spam", "user0")]
    assert {*map(tuple, group["reports"])} == {("kind", "at", "reporter")}
    [text] = group["texts"]
    assert (text["text"], text["reporter"]["username"]) == ("Look.", "user1")
    [seen] = world.caller(world.reviewer()).get("/api/review/reports").json["items"]
    assert "reports" not in seen
    assert "reporter" not in seen["texts"][0]


def test_what_was_unfounded_is_not_reported_again_by_the_same_member_until_the_project_changes(make_app: Any) -> None:
    app = make_app(REPORTS="members", REVIEW_ON_EDIT="never")
    world = World(app)
    owner, ada, bob = world.user("owner"), world.user("ada"), world.user("bob")
    project, admin = world.project(owner), world.caller(world.admin())

    def report(user: Any) -> int:
        """How many open reports there are after another one."""
        assert world.caller(user).post(path(project), {"kind": "spam"}).status_code == 202
        return len(admin.get("/api/review/reports").json["items"])

    assert report(ada) == 1
    settle(admin, project, outcome="unfounded")
    assert [report(ada) for _ in range(3)] == [0, 0, 0]
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(Report)) == 1
    assert report(bob) == 1
    settle(admin, project, outcome="unfounded")
    assert world.caller(owner).put(f"/api/projects/{project}", {"title": "Changed"}).status_code == 200
    assert report(ada) == 1
