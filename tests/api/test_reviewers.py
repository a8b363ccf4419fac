"""Reviewers: what they see and decide, in their categories and outside of them."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.db.transactions import transaction
from directory.errors import AdminRequired, ReviewerRequired
from directory.extensions import db
from directory.http import endpoint
from directory.models import Project
from directory.services import permissions
from directory.services.identity import Caller
from tests.conftest import Statements
from tests.support.extras import rows
from tests.support.factories import Api, World
from tests.support.lists import ORDERS

ALL = ("tools", "games", "art")


@pytest.fixture
def waiting(world: World) -> dict[str, int]:
    """A pending project in each category."""
    return {category: world.project(status="pending", category=category) for category in ALL}


def ids(answer: Any) -> list[int]:
    assert answer.status_code == 200, answer.json
    return [item["id"] for item in answer.json["items"]]


def reviewer(world: World, *categories: str) -> Api:
    return world.caller(world.reviewer(*categories))


def test_permissions_answer_for_each_role_and_category() -> None:
    everywhere, some, none = (Caller(1, "x", "reviewer", review_categories=each) for each in (None, (1, 2), ()))
    admin, member = (Caller(1, "x", role, review_categories=(1,)) for role in ("admin", "member"))
    callers = (admin, everywhere, some, none, member)
    assert [permissions.may(by, "administer") for by in callers] == [True, False, False, False, False]
    assert [permissions.may(by, "review") for by in callers] == [True, True, True, True, False]
    assert [permissions.may(by, "review", 2) for by in callers] == [True, True, True, False, False]
    assert [permissions.may(by, "review", 3) for by in callers] == [True, True, False, False, False]
    assert [permissions.categories(by) for by in callers] == [None, None, (1, 2), (), ()]
    assert [permissions.named(by) for by in (admin, none, member, None)] == [
        ["review", "administer"],
        ["review"],
        [],
        [],
    ]


def test_a_reviewer_sees_the_projects_of_these_categories_in_each_list(world: World, waiting: dict[str, int]) -> None:
    caller, everywhere = reviewer(world, "tools", "art"), reviewer(world)
    live = [world.project(category=category, votes=1) for category in ALL]
    with world.app.app_context():
        owner = db.session.scalar(select(Project.owner_id).where(Project.id == live[0]))
    world.revise(live[0], Caller(owner, "x", "member"), title="Revised")
    world.revise(live[1], Caller(world.stored(live[1])["owner"]["id"], "x", "member"), title="Revised")
    for path, own, every in (
        ("?waiting=true", [waiting["tools"], waiting["art"], live[0]], [*waiting.values(), live[0], live[1]]),
        ("?status=pending", [waiting["tools"], waiting["art"]], [*waiting.values()]),
        ("?status=live&sort=oldest", [live[0], live[2]], live),
        ("?q=things&sort=oldest", [waiting["tools"], waiting["art"], live[0], live[2]], [*waiting.values(), *live]),
        ("?category=games", [], [live[1], waiting["games"]]),
        ("?category=art", [live[2], waiting["art"]], [live[2], waiting["art"]]),
    ):
        for by, expected in ((caller, own), (everywhere, every)):
            answer = by.get(f"/api/review/projects{path}")
            assert (ids(answer), answer.json["pagination"]["total"]) == (expected, len(expected)), path
    for sort in ORDERS:
        for status in ("", "&status=live", "&q=things"):
            found = caller.get(f"/api/review/projects?sort={sort}{status}").json
            own = {live[0], live[2]} if "live" in status else {live[0], live[2], waiting["tools"], waiting["art"]}
            assert {item["id"] for item in found["items"]} == own
            assert found["pagination"]["total"] == len(own)


def test_a_list_goes_on_by_cursor_within_the_categories(world: World, waiting: dict[str, int]) -> None:
    caller = reviewer(world, "tools", "art")
    first = caller.get("/api/review/projects?waiting=true&limit=1").json
    rest = caller.get(f"/api/review/projects?waiting=true&limit=1&cursor={first['pagination']['next_cursor']}").json
    assert [each["items"][0]["id"] for each in (first, rest)] == [waiting["tools"], waiting["art"]]
    other = reviewer(world, "games").get(
        f"/api/review/projects?waiting=true&limit=1&cursor={first['pagination']['next_cursor']}"
    )
    assert other.status_code == 422


def test_the_summary_counts_what_the_reviewer_may_review(world: World, waiting: dict[str, int]) -> None:
    summaries = [reviewer(world, *some).get("/api/review/summary").json for some in (("games", "art"), (), ("tools",))]
    assert [each["queue_length"] for each in summaries] == [2, 3, 1]
    first = reviewer(world).get(f"/api/review/projects/{waiting['games']}").json["submitted_at"]
    assert summaries[0]["oldest_submitted_at"] == first
    world.category("empty")
    nothing = {
        "queue_length": 0,
        "oldest_submitted_at": None,
        "too_few_reviewers": [],
        **dict.fromkeys(("held", "messages", "waiting_for_appeal", "waiting_for_owner"), 0),
        **rows("summary"),
    }
    assert reviewer(world, "empty").get("/api/review/summary").json == nothing
    with_none = world.reviewer("empty")
    world.change(with_none, review_categories=[])
    assert world.caller(with_none).get("/api/review/summary").json["queue_length"] == 0


def test_a_project_is_shown_as_to_an_administrator_with_its_background(world: World, waiting: dict[str, int]) -> None:
    caller, admin = reviewer(world, "tools"), world.caller(world.admin())
    answer = caller.get(f"/api/review/projects/{waiting['tools']}")
    public = admin.get(f"/api/projects/{waiting['tools']}").json
    assert {name: answer.json[name] for name in public} == public
    assert answer.json["owner_stats"] == {"live": 0, "pending": 1, "rejected": 0}
    assert (answer.json["earlier"], answer.json["warnings"]) == (0, [])
    tag = answer.headers["ETag"]
    assert caller.get(f"/api/review/projects/{waiting['tools']}", headers={"If-None-Match": tag}).status_code == 304
    assert caller.put(f"/api/review/projects/{waiting['tools']}/approve", headers={"If-Match": tag}).status_code == 200
    assert caller.get(f"/api/projects/{waiting['games']}").status_code == 404


def test_elsewhere_a_reviewer_is_a_member(world: World, waiting: dict[str, int]) -> None:
    caller = reviewer(world)
    assert caller.get(f"/api/projects/{waiting['tools']}").status_code == 404
    assert caller.get("/api/projects?status=pending").json["items"] == []
    live = caller.get(f"/api/projects/{world.project()}")
    assert "revision" not in live.json
    assert caller.put(f"/api/projects/{live.json['id']}", {"tagline": "Mine"}).json["code"] == "not_owner"


def test_decisions_outside_of_the_categories_are_not_found(world: World, waiting: dict[str, int]) -> None:
    caller = reviewer(world, "tools")
    for decision in ("approve", "reject", "unpublish"):
        answer = caller.put(f"/api/review/projects/{waiting['games']}/{decision}", {"nonsense": 1})
        assert answer.status_code == 422  # as for a project that does not exist
        answer = caller.put(f"/api/review/projects/{waiting['games']}/{decision}")
        assert (answer.status_code, answer.json["code"]) == (404, "not_found")
    given = {"decision": "approve", "ids": [waiting["games"], waiting["tools"], 4711]}
    found = caller.post("/api/review/projects/decisions", given).json["items"]
    assert [(each["status"], each.get("code")) for each in found] == [
        (404, "not_found"), (200, None), (404, "not_found"),
    ]  # fmt: skip
    assert "project" not in found[0]
    assert world.stored(waiting["games"])["status"] == "pending"
    delete = caller.post("/api/review/projects/decisions", {"decision": "delete", "ids": [waiting["tools"]]})
    assert delete.json["errors"][0]["pointer"] == "#/decision"


def items_of_tools(world: World) -> list[int]:
    """Projects of one category: pending, live with changes, an approval, a note and a report, appealed."""
    world.category("tools")
    owner, root = world.user(), world.admin()
    pending, revised, down = (world.project(owner, each) for each in ("pending", "live", "live"))
    world.revise(revised, owner, title="Revised")
    admin = world.caller(root)
    done = (
        *rows("reviewed", admin, pending).values(),
        admin.put(f"/api/review/projects/{revised}/approve"),
        admin.post(f"/api/review/projects/{revised}/messages", {"text": "Odd.", "internal": True}),
        admin.put(f"/api/admin/projects/{down}/unpublish", {"reason": "Odd."}),
    )
    assert all(answer.status_code < 300 for answer in done)
    world.appeal(down, owner)
    world.report(revised)
    return [pending, revised, down]


BODIES: tuple[Any, ...] = (
    None, {}, {"nonsense": 1}, {"reason": "x"}, {"message": "x"}, {"text": "x"}, {"text": "x", "internal": True},
    {"outcome": "upheld", "reason": "x"}, {"outcome": "acted"}, {"take_over": True},
)  # fmt: skip

FILTERS = (
    "", "waiting=true", "status=pending", "status=live", "q=project", "q=revised", "category=tools", *rows("queries"),
    "waiting_for=review", "waiting_for=owner", "waiting_for=appeal", "held=true", "kind=revision",
    "kind=submission", "first_time=true", "q=project&waiting=true", "status=pending&category=tools",
)  # fmt: skip


def requests_about_a_project(app: Flask) -> Iterator[tuple[str, str, Any, dict[str, str]]]:
    """Of each route about a project: method and path, with many bodies, and with conditions."""
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/api/review/") and "<id:project_id>" in rule.rule:
            for method in {"GET", "PUT", "POST", "DELETE"} & (rule.methods or set()):
                for body in BODIES if method in {"PUT", "POST"} else (None,):
                    yield method, rule.rule, body, {}
                for condition in ({"If-Match": '"1"'}, {"If-None-Match": "*"}):
                    yield method, rule.rule, {}, condition


@pytest.mark.parametrize("setting", [{}, {"SELF_REVIEW": "refuse", "APPROVALS_REQUIRED": "2"}])
def test_what_is_outside_of_the_categories_is_answered_as_what_does_not_exist(make_app: Any, setting: Any) -> None:
    app = make_app(APPEALS="on", REPORTS="members", RATELIMIT_ENABLED="false", **setting)
    world = World(app)
    outside = items_of_tools(world)
    before = [world.stored(project) for project in outside]
    world.category("games")
    caller = reviewer(world, "games")
    for method, path, body, headers in requests_about_a_project(app):
        found = []
        for project in (*outside, 4711):
            answer = caller.call(method, path.replace("<id:project_id>", str(project)), body, headers=headers)
            found.append((answer.status_code, answer.headers.get("ETag"), {**answer.json, "request_id": None}))
        assert found == [found[-1]] * 4, (method, path, body)
        assert found[0][0] in {404, 415, 422}, (method, path, body)
    assert [world.stored(project) for project in outside] == before
    for filters in (*FILTERS, *(f"sort={sort}" for sort in ORDERS)):
        answer = caller.get(f"/api/review/projects?{filters}")
        assert (ids(answer), answer.json["pagination"]["total"]) == ([], 0), filters
    counted = caller.get("/api/review/summary").json
    assert (counted["queue_length"], counted["oldest_submitted_at"], counted.get("mine", 0)) == (0, None, 0)


@pytest.mark.parametrize(("kind", "before"), [("pending", 7), ("revision", 13)])
def test_an_approval_costs_at_most_two_statements_more_than_before_there_were_reviewers(
    world: World, statements: Statements, kind: str, before: int
) -> None:
    owner, admin = world.user(), world.caller(world.admin())
    project = world.project(owner, "pending" if kind == "pending" else "live")
    if kind == "revision":
        world.revise(project, owner, title="Later")
    admin.get("/api/auth/me")  # records the use of the token
    statements.clear()
    assert admin.put(f"/api/admin/projects/{project}/approve").status_code == 200
    assert len(statements) <= before + 2


def test_a_revision_belongs_to_the_live_category_of_its_project(make_app: Any) -> None:
    world = World(make_app(REVIEW_ON_EDIT="always"))
    world.category("games")
    owner = world.user()
    project = world.project(owner, category="tools")
    assert world.caller(owner).put(f"/api/projects/{project}", {"category": "games"}).json["revision"]
    old, new = reviewer(world, "tools"), reviewer(world, "games")
    assert new.put(f"/api/review/projects/{project}/approve").status_code == 404
    assert ids(new.get("/api/review/projects?waiting=true")) == []
    assert old.put(f"/api/review/projects/{project}/approve").json["category"]["slug"] == "games"
    assert old.get(f"/api/review/projects/{project}").status_code == 404
    assert new.get(f"/api/review/projects/{project}").status_code == 200


def test_a_history_has_what_other_submissions_of_these_categories_say(world: World, waiting: dict[str, int]) -> None:
    url = "https://same.example"
    asked, inside, outside, gone, gone_outside = (
        world.project(status="pending", url=url, category=each) for each in ("tools", "tools", "games", "art", "games")
    )
    admin = world.caller(world.admin())
    for each in (gone, gone_outside):
        assert admin.delete(f"/api/projects/{each}").status_code == 204
    by = reviewer(world, "tools", "art")
    found = by.get(f"/api/review/projects/{asked}/history").json["items"]
    assert {each["project_id"] for each in found} == {asked, inside, gone}
    everything = admin.get(f"/api/admin/projects/{asked}/history").json["items"]
    assert {each["project_id"] for each in everything} == {asked, inside, outside, gone, gone_outside}
    assert by.get(f"/api/review/projects/{gone}/history").status_code == 200
    assert by.get(f"/api/review/projects/{gone_outside}/history").status_code == 404
    assert by.get("/api/review/projects/4711/history").status_code == 404


def test_no_answer_to_a_reviewer_has_an_address(world: World, waiting: dict[str, int]) -> None:
    caller = reviewer(world)
    for path in ("", "?waiting=true", f"/{waiting['tools']}", f"/{waiting['tools']}/history"):
        answer = caller.get(f"/api/review/projects{path}")
        assert answer.status_code == 200
        assert "@example.org" not in answer.text


# What the caller is, the path, what changes while the request is in progress, and the refusal.
MEANWHILE: list[tuple[str, str, dict[str, Any], str | None]] = [
    ("reviewer", "review", {"role": "member"}, "reviewer_required"),
    ("reviewer", "review", {"review_categories": []}, "reviewer_required"),
    ("reviewer", "review", {"status": "suspended"}, "unauthenticated"),
    ("reviewer", "review", {"role": "admin"}, None),
    ("admin", "review", {"role": "reviewer", "review_categories": []}, "reviewer_required"),
    ("admin", "review", {"role": "reviewer"}, None),
    ("admin", "admin", {"role": "reviewer"}, "admin_required"),
]


@pytest.mark.parametrize(("role", "under", "values", "code"), MEANWHILE)
@pytest.mark.parametrize("many", [False, True])
def test_what_is_taken_from_somebody_meanwhile_refuses_the_write_in_its_own_transaction(
    world: World, waiting: dict[str, int], monkeypatch: pytest.MonkeyPatch,
    role: str, under: str, values: dict[str, Any], code: str | None, many: bool,
) -> None:  # fmt: skip
    user = world.reviewer("tools") if role == "reviewer" else world.admin()
    caller = world.caller(user)
    caller.get("/api/auth/me")  # records the token's use

    def changed_before(work: Any) -> Any:
        monkeypatch.setattr(endpoint, "transaction", transaction)
        world.change(user, **values)
        return transaction(work)

    monkeypatch.setattr(endpoint, "transaction", changed_before)
    if many:
        answer = caller.post(f"/api/{under}/projects/decisions", {"decision": "approve", "ids": [waiting["tools"]]})
    else:
        answer = caller.put(f"/api/{under}/projects/{waiting['tools']}/approve")
    assert (answer.status_code, answer.json.get("code")) == ({"unauthenticated": 401, None: 200}.get(code, 403), code)
    assert world.stored(waiting["tools"])["status"] == ("live" if code is None else "pending")


def test_a_check_at_the_commit_knows_each_loss(app: Flask, world: World, waiting: dict[str, int]) -> None:
    some, every = world.reviewer("tools", "games"), world.reviewer()
    member = world.user()
    with app.app_context():
        for by, expected in ((some, 2), (every, 3), (member, 0)):
            found = db.session.scalars(
                select(Project.id).where(permissions.within(Project.__table__.c.category_id, by))
            )
            assert len(found.all()) == expected
        assert [permissions.still(each, "review") for each in (some, every)] == [True, True]
        assert not permissions.still(some, "administer")
    world.make_reviewer(every, "tools")
    world.make_reviewer(some, *ALL)
    with app.app_context():
        assert [permissions.still(each, "review") for each in (some, every)] == [True, False]
        assert not permissions.still(Caller(4711, "nobody", "reviewer"), "review")
    assert {AdminRequired.code, ReviewerRequired.code} == {"admin_required", "reviewer_required"}


@pytest.mark.extra("passkeys")
@pytest.mark.parametrize("which", ["none", "admins", "reviewers"])
def test_who_needs_a_passkey_and_has_not_signed_in_by_one_is_a_member(make_app: Any, which: str) -> None:
    world = World(make_app(REQUIRE_PASSKEY=which, SITE_URL="https://directory.example"))
    project = world.project(status="pending")
    found = {}
    for name, user in (("reviewer", world.reviewer()), ("admin", world.admin())):
        for under in ("review", "admin"):
            answer = world.caller(user).get(f"/api/{under}/projects")
            found[name, under] = answer.json.get("code")
            if found[name, under] == "passkey_required":
                who = "Administrators and reviewers" if which == "reviewers" else "Administrators"
                assert answer.json["detail"].startswith(f"{who} sign in by a passkey here.")
        expected = 200 if (name, which) == ("admin", "none") else 404
        assert world.caller(user).get(f"/api/projects/{project}").status_code == expected
    needed = "passkey_required"
    assert found == {
        ("reviewer", "review"): needed if which == "reviewers" else None,
        ("reviewer", "admin"): "admin_required",
        ("admin", "review"): None if which == "none" else needed,
        ("admin", "admin"): None if which == "none" else needed,
    }
