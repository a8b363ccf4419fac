"""Rules that ask for own fields, while both extras are there."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.extensions import db
from directory.models import RuleAction
from tests.extras.fields.test_fields import LICENSE, OTHERS, PROJECT, SCORE, define
from tests.support.factories import Api, World

pytest.importorskip("directory.extras.spam_rules")
RULES = "/api/admin/rules"


def rule(admin: Api, name: str, *when: dict[str, Any], on: tuple[str, ...] = ("submission", "edit")) -> Any:
    return admin.post(RULES, {"name": name, "on": [*on], "when": [*when], "then": "hold", "state": "on"})


def asks(fact: str, how: str, value: Any) -> dict[str, Any]:
    return {"fact": f"field.{fact}", "is": how, "value": value}


def test_rules_ask_for_own_fields(app: Flask, world: World) -> None:
    world.category("tools")
    world.category("games")
    admin, ada = world.caller(world.admin("root")), world.caller(world.user("ada"))
    define(admin, {**LICENSE, "categories": ["tools"]}, SCORE, OTHERS[0], OTHERS[3])
    facts = {each["fact"]: each for each in admin.get(f"{RULES}/facts").json["items"]}
    assert facts["field.license"] == {
        "fact": "field.license", "type": "choice", "is": ["=", "in", "not in"], "on": ["submission", "edit"],
    }  # fmt: skip
    assert (facts["field.score"]["type"], facts["field.free"]["type"]) == ("number", "truth")
    assert "field.team" not in facts
    for condition, place in (
        (asks("nothing", "=", "x"), "fact"), (asks("team", "=", "x"), "fact"), (asks("license", "<", 1), "is"),
        (asks("license", "=", "bsd"), "value"), (asks("license", "in", "mit"), "value"),
        (asks("license", "in", []), "value"), (asks("license", "in", [1]), "value"), (asks("score", "=", "1"), "value"),
        (asks("free", "=", 1), "value"), ({"fact": "field.X", "is": "=", "value": 1}, "fact"),
    ):  # fmt: skip
        refused = rule(admin, "Wrong", condition)
        assert refused.status_code == 422, condition
        assert [error["pointer"] for error in refused.json["errors"]] == [f"#/when/0/{place}"], condition
    assert rule(admin, "Accounts", asks("free", "=", True), on=("registration",)).status_code == 422
    for condition in (
        asks("license", "not in", ["mit"]), asks("license", "=", "gpl"), asks("score", "<", -1),
        asks("free", "=", False),
        {"fact": "words", "is": "in", "value": ["casino"]},
    ):  # fmt: skip
        assert rule(admin, f"{condition['fact']} {condition['is']}", condition).status_code == 201, condition

    def matched(number: int, category: str = "tools", **values: Any) -> set[str]:
        given = {**PROJECT, "url": f"https://{number}.example/", "category": category, "fields": values}
        made = ada.post("/api/projects", given)
        assert made.status_code == 201, made.json
        return actions(made.json["id"])

    def actions(project_id: int) -> set[str]:
        with app.app_context():
            names = select(RuleAction.rule_name).where(RuleAction.project_id == project_id)
            return {*db.session.scalars(names)}

    assert matched(1) == set()
    assert matched(2, license="mit", score=-1, free=True, team="Core") == set()
    assert matched(3, license="gpl") == {"field.license not in", "field.license ="}
    assert matched(4, score=-1.5, free=False) == {"field.score <", "field.free ="}
    assert matched(5, team="Casino team") == {"words in"}
    live = ada.get("/api/projects?owner=me").json["items"][-1]["id"]  # whose license is not set
    assert admin.put(f"/api/admin/projects/{live}/approve").status_code == 200
    assert actions(live) == set()
    # What waits is judged as it would be.
    assert ada.put(f"/api/projects/{live}", {"fields": {"license": "gpl", "score": -2}}).json["fields"] == {}
    assert actions(live) == {"field.license not in", "field.license =", "field.score <"}
