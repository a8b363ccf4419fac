"""The administrators' rules: adding, changing and deleting them, and every refusal."""

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, insert, select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.spam_rules import editing
from directory.extras.spam_rules.conditions import FACTS, OPERATORS
from directory.models import AuditEntry, RulePreview, SpamRule, now
from tests.support.factories import Api, World

PATH = "/api/admin/rules"
LINKS = {"fact": "links", "is": ">=", "value": 3}
RULE = {"name": "Many links", "on": ["submission"], "when": [LINKS], "then": "hold"}
REJECT = {**RULE, "name": "No", "then": "reject", "reason": "Too many links."}
REFUSE = {**REJECT, "on": ["registration"], "when": [{"fact": "email_disposable", "is": "=", "value": True}]}


@pytest.fixture
def root(app: Flask, world: World) -> Api:
    """An administrator of a directory without rules."""
    with app.app_context():
        transaction(lambda: db.session.execute(delete(SpamRule)))
    return world.caller(world.admin("root"))


def try_out(root: Api, rule: dict[str, Any]) -> None:
    assert root.post(f"{PATH}/preview", {"rule": rule, "days": 30}).status_code == 200


def logged(app: Flask) -> list[tuple[str, int | None, Any]]:
    with app.app_context():
        query = select(AuditEntry.action, AuditEntry.rule_id, AuditEntry.changes).order_by(AuditEntry.id)
        return [tuple(row) for row in db.session.execute(query.where(AuditEntry.action.startswith("rule.")))]


def test_three_rules_come_with_the_service_and_are_off(world: World) -> None:
    items = world.caller(world.admin()).get(PATH).json["items"]
    assert [(each["name"], each["then"], each["state"]) for each in items] == [
        ("New account with a disposable address", "mark", "off"), ("Text of a rejected project", "hold", "off"),
        ("New account in a wave of submissions", "hold", "off"),
    ]  # fmt: skip


def test_a_rule_is_added_changed_and_deleted_and_the_log_says_what_changed(app: Flask, root: Api) -> None:
    made = root.post(PATH, RULE)
    assert (made.status_code, made.headers["Location"]) == (201, f"{PATH}/{made.json['id']}")
    rule = made.json
    days = rule.pop("days")
    assert rule == {**RULE, "id": rule["id"], "reason": None, "state": "off", "changed_at": rule["changed_at"]}
    today = now().date()
    assert [day["date"] for day in days] == [str(today - timedelta(days=n)) for n in reversed(range(30))]
    assert {day["matched"] for day in days} == {0}
    path = f"{PATH}/{rule['id']}"
    for name in LINKS:  # a condition is whole, also where a change has nothing but conditions
        lacking = root.put(path, {"when": [{other: value for other, value in LINKS.items() if other != name}]})
        assert (lacking.status_code, lacking.json["errors"][0]["pointer"]) == (422, f"#/when/0/{name}")
    assert root.get(path).json == root.get(PATH).json["items"][0] == made.json
    changed = root.put(path, {"name": "Links", "state": "on"})
    assert (changed.json["name"], changed.json["state"], changed.json["then"]) == ("Links", "on", "hold")
    assert root.put(path, {"name": "Links", "on": ["submission"]}).json == changed.json  # nothing changes
    assert root.delete(path).status_code == 204
    assert [
        root.call(method, path, {} if method == "PUT" else None).status_code for method in ("GET", "PUT", "DELETE")
    ] == [404] * 3
    added, edited, deleted = logged(app)
    members = {**RULE, "reason": None, "state": "off"}
    assert added == (
        "rule.created",
        rule["id"],
        {name: {"from": None, "to": members[name]} for name in editing.MEMBERS},
    )
    assert edited[2] == {"name": {"from": "Many links", "to": "Links"}, "state": {"from": "off", "to": "on"}}
    assert deleted[2]["name"] == {"from": "Links", "to": None}
    entry = root.get("/api/admin/audit?action=rule.deleted").json["items"][0]
    assert entry["rule_id"] == rule["id"]


def test_the_facts_are_listed_with_what_may_be_asked_of_each(root: Api) -> None:
    items = root.get(f"{PATH}/facts").json["items"]
    assert [each["fact"] for each in items] == list(FACTS)
    assert all(each["is"] == list(OPERATORS[each["type"]]) for each in items)
    assert [each["fact"] for each in items if "registration" in each["on"]] == [
        "email_confirmed", "email_domain", "email_disposable",
    ]  # fmt: skip


BAD: list[tuple[dict[str, Any], list[str]]] = [
    ({"name": ""}, ["#/name"]), ({"name": "x" * 61}, ["#/name"]), ({"on": []}, ["#/on"]),
    ({"on": ["submission", "submission"]}, ["#/on"]), ({"on": ["vote"]}, ["#/on/0"]), ({"when": []}, ["#/when"]),
    ({"when": [{**LINKS, "value": n} for n in range(11)]}, ["#/when"]), ({"when": [LINKS, LINKS]}, ["#/when"]),
    ({"then": "delete"}, ["#/then"]), ({"state": "paused"}, ["#/state"]), ({"code": "1"}, ["#/code"]),
    ({"then": "reject"}, ["#/reason"]), ({"reason": "Because"}, ["#/reason"]),
    ({"then": "reject", "reason": ""}, ["#/reason"]), ({"then": "reject", "reason": "x" * 1001}, ["#/reason"]),
    ({"on": ["registration"], "when": [{"fact": "email_confirmed", "is": "=", "value": False}]}, ["#/then"]),
    ({"on": ["edit", "registration"], "then": "reject", "reason": "No"}, ["#/when/0/fact"]),
    ({"when": [{"fact": "shoe_size", "is": "=", "value": 1}]}, ["#/when/0/fact"]),
    ({"when": [{"fact": "links"}]}, ["#/when/0/is", "#/when/0/value"]),
    ({"when": [{**LINKS, "why": 1}]}, ["#/when/0/why"]), ({"when": [{**LINKS, "is": "in"}]}, ["#/when/0/is"]),
    ({"when": [{**LINKS, "is": ">"}]}, ["#/when/0/is"]),
    ({"when": [{"fact": "words", "is": "=", "value": "x"}]}, ["#/when/0/is"]),
    ({"when": [LINKS, {"fact": "has_repository", "is": "<", "value": True}]}, ["#/when/1/is"]),
    *(({"when": [{**LINKS, "value": value}]}, ["#/when/0/value"])
      for value in (True, "3", -1, 1e10, None, [3], {"a": 1})),
    *(({"when": [{"fact": "title_lookalike", "is": "=", "value": value}]}, ["#/when/0/value"])
      for value in (1, "true", None)),
    *(({"when": [{"fact": "words", "is": "in", "value": value}]}, ["#/when/0/value"])
      for value in ("casino", [], ["x"] * 1001)),
    *(({"when": [{"fact": "words", "is": "in", "value": value}]}, ["#/when/0/value/0"])
      for value in ([1], ["one two three four five six"], ["x-" * 6], ["!"], [["x"]], ["x" * 400])),
    *(({"when": [{"fact": "email_domain", "is": "=", "value": value}]}, ["#/when/0/value"])
      for value in (1, "", "ada@example.org", "https://example.org", "localhost", ["example.org"], ".ru", "spam.*",
                    "*.", "**.ru", "*example.org", "a..org", "x" * 300 + ".org", "é%.org")),
    ({"when": [{"fact": "email_domain", "is": "in", "value": ["*.ru", ".ru", "a.org", "spam.*"]}]},
     ["#/when/0/value/1", "#/when/0/value/3"]),
    *(({"when": [{"fact": "domain", "is": "in", "value": value}]}, ["#/when/0/value"])
      for value in ("example.org", [])),
    ({"when": [{"fact": "domain", "is": "in", "value": ["www.example.org", "example.org", "co.uk."]}]},
     ["#/when/0/value/0", "#/when/0/value/2"]),
    ({"when": [{"fact": "domain", "is": "in", "value": [".ru", "spam.*", "co.uk", "1.2.3.4", "a.github.io", "com"]}]},
     ["#/when/0/value/0", "#/when/0/value/1", "#/when/0/value/2", "#/when/0/value/5"]),
]  # fmt: skip


def test_what_is_no_rule_is_refused_by_its_place(root: Api) -> None:
    bodies = [({**RULE, **fields}, pointers, "#", PATH) for fields, pointers in BAD]
    bodies += [({"rule": rule, "days": 1}, pointers, "#/rule", f"{PATH}/preview") for rule, pointers, *_ in bodies[::4]]
    for body, pointers, prefix, path in bodies:
        answer = root.post(path, body)
        assert answer.status_code == 422, answer.json
        assert sorted(error["pointer"] for error in answer.json["errors"]) == [
            p.replace("#", prefix, 1) for p in pointers
        ]
    assert root.get(PATH).json["items"] == []


def test_a_preview_takes_1_to_365_days(root: Api) -> None:
    for days in (0, 366, "30", 1.5, None, True):
        answer = root.post(f"{PATH}/preview", {"rule": RULE, "days": days})
        assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "#/days"), days


def test_names_are_unique_and_there_may_be_fifty(app: Flask, root: Api) -> None:
    first, second = (root.post(PATH, {**RULE, "name": name}).json["id"] for name in ("One", "Two"))
    for answer in (root.post(PATH, {**RULE, "name": "One"}), root.put(f"{PATH}/{second}", {"name": "One"})):
        assert (answer.status_code, answer.json["code"]) == (409, "duplicate")
        assert answer.json["errors"][0]["pointer"] == "#/name"
    row = {
        "judges": ["edit"],
        "conditions": [LINKS],
        "effect": "mark",
        "state": "off",
        "version": 1,
        "changed_at": now(),
    }
    with app.app_context():
        transaction(lambda: db.session.execute(insert(SpamRule), [{**row, "name": f"Rule {n}"} for n in range(47)]))
    assert root.post(PATH, {**RULE, "name": "The fiftieth"}).status_code == 201
    answer = root.post(PATH, {**RULE, "name": "The next"})
    assert (answer.status_code, answer.json["code"]) == (409, "too_many")
    assert root.delete(f"{PATH}/{first}").status_code == 204
    assert root.post(PATH, {**RULE, "name": "The next"}).status_code == 201


def test_a_rule_that_rejects_goes_on_only_within_a_day_after_a_preview_of_its_conditions(app: Flask, root: Api) -> None:
    on = {"state": "on"}

    def expect_preview_first(answer: Any) -> None:
        assert (answer.status_code, answer.json["code"]) == (409, "preview_first")

    expect_preview_first(root.post(PATH, {**REJECT, **on}))
    path = f"{PATH}/{root.post(PATH, {**REJECT, 'state': 'dry'}).json['id']}"
    try_out(root, {**REJECT, "when": [{**LINKS, "value": 4}]})
    try_out(root, {**REJECT, "on": ["submission", "edit"]})
    expect_preview_first(root.put(path, on))
    try_out(root, {**REJECT, "name": "Any name", "then": "mark", "reason": None})  # the conditions are what counts
    with app.app_context():
        transaction(lambda: db.session.execute(update(RulePreview).values(at=now() - timedelta(hours=24, seconds=1))))
    expect_preview_first(root.put(path, on))
    try_out(root, REJECT)
    assert root.put(path, on).json["state"] == "on"
    # Another name or reason needs no preview; other conditions do, also in the same request.
    with app.app_context():
        transaction(lambda: db.session.execute(update(RulePreview).values(at=now() - timedelta(days=2))))
    assert root.put(path, {"name": "Other", "reason": "So.", "state": "on"}).json["state"] == "on"
    expect_preview_first(root.put(path, {"when": [{**LINKS, "value": 5}], **on}))
    held = root.post(PATH, {**RULE, "name": "Held", **on}).json
    expect_preview_first(root.put(f"{PATH}/{held['id']}", {"then": "reject", "reason": "No.", **on}))


def test_a_change_of_what_a_rule_judges_by_makes_one_that_is_on_dry_unless_the_request_says_its_state(
    root: Api,
) -> None:
    path = f"{PATH}/{root.post(PATH, {**RULE, 'state': 'on'}).json['id']}"
    changes = ({"then": "mark"}, {"on": ["edit"]}, {"when": [{**LINKS, "value": 9}]})
    for change in changes:
        assert root.put(path, change).json["state"] == "dry", change
        assert root.put(path, {"state": "on"}).json["state"] == "on"
    assert root.put(path, {"name": "Other"}).json["state"] == "on"
    assert root.put(path, {"then": "hold", "state": "on"}).json["state"] == "on"
    assert root.put(path, {"then": "mark", "state": "off"}).json["state"] == "off"
    assert root.put(path, {"then": "hold"}).json["state"] == "off"


def test_each_wrong_value_of_a_long_list_is_named_by_its_number_and_its_text(root: Api) -> None:
    words = [f"word{n}" for n in range(901)]
    words[17], words[900] = "!", "a b c d e f"
    condition = {"fact": "words", "is": "in", "value": words}
    found = root.post(PATH, {**RULE, "when": [condition]}).json["errors"]
    assert found == [
        {"pointer": "#/when/0/value/17", "detail": "Value 18, !, must be one to five words."},
        {"pointer": "#/when/0/value/900", "detail": "Value 901, a b c d e f, must be one to five words."},
    ]
    many = root.post(PATH, {**RULE, "when": [{**condition, "value": ["?"] * 901}]}).json["errors"]
    assert len(many) == 100
    assert all("?" in error["detail"] for error in many)


def test_the_reason_of_a_rule_goes_with_its_rejecting_and_a_change_is_checked_as_a_whole(root: Api) -> None:
    path = f"{PATH}/{root.post(PATH, REJECT).json['id']}"
    assert root.put(path, {"then": "hold"}).json["reason"] is None
    for change, pointer in (
        ({"then": "reject"}, "#/reason"), ({"reason": "So."}, "#/reason"), ({"on": ["registration"]}, "#/then"),
        ({"when": [{"fact": "words", "is": "in", "value": ["!"]}]}, "#/when/0/value/0"),
    ):  # fmt: skip
        answer = root.put(path, change)
        assert answer.status_code == 422
        assert pointer in {error["pointer"] for error in answer.json["errors"]}
    assert root.put(path, {**REFUSE, "state": "dry"}).json["on"] == ["registration"]
    assert root.put(path, {"then": "hold"}).json["errors"] == [
        {"pointer": "#/then", "detail": "A rule that judges registrations can only reject."}
    ]
