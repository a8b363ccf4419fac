"""What a judge says of a submission, an edit or a registration is done; without one nothing is judged."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from directory.db.transactions import transaction
from directory.errors import RegistrationRefused
from directory.extensions import db
from directory.models import Effect, Judged, RuleAction, RuleFacts, User
from directory.services.accounts import accounts
from directory.services.drafts import Draft, Registration, Verdict
from directory.services.identity import Caller
from tests.conftest import Statements
from tests.support.factories import Api, World

GIVEN = {"title": "Lamp", "tagline": "A lamp", "url": "https://lamp.example", "category": "tools"}
TEXT = "A description of more than twenty characters."


class Judging:
    """Judges as it is told, and keeps what it has judged."""

    def __init__(self, effect: Effect) -> None:
        self.effect, self.drafts, self.recorded = effect, list[Draft | Registration](), list[int | None]()

    def __call__(self, draft: Draft | Registration) -> Verdict:
        self.drafts.append(draft)
        return Verdict(self.recorded.append, self.effect, "Spam.", 7)


def is_held(shown: Any) -> bool:
    return bool(shown["review"] and shown["review"]["held"])


@pytest.fixture
def judge(app: Flask) -> Callable[[Effect], Judging]:
    def put(effect: Effect) -> Judging:
        judging = app.extensions["judge"] = Judging(effect)
        return judging

    return put


@pytest.mark.parametrize("effect", Effect)
def test_a_submission_is_judged_with_the_keys_that_are_stored_and_what_is_said_is_done(
    world: World, judge: Any, ada: Caller, effect: Effect
) -> None:
    world.category("tools")
    judging = judge(effect)
    shown = world.caller(ada).post("/api/projects", {**GIVEN, "description": TEXT}).json
    [draft] = judging.drafts
    assert (draft.kind, draft.of_changes, judging.recorded) == (Judged.SUBMISSION, False, [ada.id])
    assert (draft.after.id, draft.after.domain, draft.after.description) == (shown["id"], "lamp.example", TEXT)
    assert draft.after.text_key is not None
    assert (shown["status"], shown["rejection_reason"]) == (
        ("rejected", "Spam.") if effect is Effect.REJECT else ("pending", None)
    )
    assert is_held(shown) is (effect is Effect.HOLD)


@pytest.mark.parametrize("effect", Effect)
def test_what_waits_after_an_edit_is_judged_as_it_would_be(
    world: World, judge: Any, ada: Caller, effect: Effect
) -> None:
    owner, project, judging = world.caller(ada), world.project(ada), judge(effect)
    before = owner.put(f"/api/projects/{project}", {"tags": ["blue"]}).json  # applies at once
    assert judging.drafts == []
    changed = {"url": "https://www.other.example", "description": TEXT, "tagline": "Other"}
    shown = owner.put(f"/api/projects/{project}", changed).json
    [draft] = judging.drafts
    assert (draft.kind, draft.of_changes, draft.after.domain) == (Judged.EDIT, True, "other.example")
    assert (draft.after.tagline, draft.after.version, draft.after.tags) == ("Other", before["version"] + 1, ["blue"])
    assert (shown["status"], shown["version"] - before["version"]) == ("live", 2 if effect is Effect.REJECT else 1)
    assert shown["revision"]["reason"] == ("Spam." if effect is Effect.REJECT else None)
    assert is_held(shown) is (effect is Effect.HOLD)


def test_administrators_are_not_judged(world: World, judge: Any) -> None:
    world.category("tools")
    admin, judging = world.caller(world.admin()), judge(Effect.REJECT)
    project = admin.post("/api/projects", GIVEN).json["id"]
    assert admin.put(f"/api/projects/{project}", {"title": "Other"}).json["status"] == "pending"
    assert judging.drafts == []


def test_a_registration_is_opened_or_refused_with_the_reason(app: Flask, judge: Any) -> None:
    body = {"username": "ada", "email": "ada@example.org", "password": "correct horse battery"}
    refusing = judge(Effect.REJECT)
    answer = Api(app).post("/api/auth/register", body)
    assert (answer.status_code, answer.json["code"], answer.json["detail"]) == (403, "registration_refused", "Spam.")
    assert refusing.recorded == [None]
    admitting = judge(Effect.MARK)
    user = Api(app).post("/api/auth/register", body).json
    assert (admitting.recorded, admitting.drafts[0].is_confirmed) == ([user["id"]], False)
    given: Any = {"is_confirmed": True, "judge": refusing}
    with app.app_context(), pytest.raises(RegistrationRefused):
        transaction(lambda: accounts.register("eve", "eve@example.org", "", **given))
    assert refusing.drafts[-1].is_confirmed
    with app.app_context():
        assert db.session.scalars(select(User.username)).all() == ["ada"]


def test_without_one_nothing_is_held_stored_or_asked_of_rules(
    make_app: Callable[..., Flask], statements: Statements
) -> None:
    app = make_app(EXTRAS="none")
    world = World(app)
    world.category("tools")
    world.rule(state="on", effect="hold", conditions=[{"fact": "links", "is": ">=", "value": 0}])
    owner = world.caller(world.user("ada"))
    statements.clear()
    project = owner.post("/api/projects", GIVEN).json
    owner.put(f"/api/projects/{project['id']}", {"title": "Other"})
    body = {"username": "eve", "email": "eve@example.org", "password": "correct horse battery"}
    assert Api(app).post("/api/auth/register", body).status_code == 201
    assert [each for each in statements if "rule" in each.replace("rule_id", "")] == []
    assert project["review"]["held"] is False
    with app.app_context():
        assert [db.session.scalar(select(func.count()).select_from(each)) for each in (RuleFacts, RuleAction)] == [0, 0]
