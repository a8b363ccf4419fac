"""Rules about what was seen of links: unknown at first, and judged once more when it arrives."""

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.spam_rules import conditions, judging
from directory.models import Project, Review, RuleFacts, Turn, now
from directory.services.clock import timestamp
from directory.services.identity import Caller
from directory.services.review import moderation, submissions
from tests.extras.spam_rules.test_judging import Rules
from tests.support.factories import World

GONE = {"fact": "link_state", "is": "=", "value": "gone"}
FEW_STARS = {"fact": "repository_stars", "is": "<", "value": 5}
OTHER = {"fact": "links", "is": ">=", "value": 0}


@pytest.fixture(autouse=True)
def _shows_links(app: Flask) -> None:
    app.config["LINKS_ARE_CHECKED"] = True


@pytest.fixture
def rules(app: Flask, world: World) -> Rules:
    world.category("tools")
    return Rules(app, world)


class Seeing:
    """Sees links of projects, as the extra does that looks at them."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def see(self, project: int, **columns: Any) -> None:
        def work() -> None:
            db.session.execute(update(Project).where(Project.id == project).values(columns))
            submissions.judge_seen(project, frozenset(columns), judging.on_submit, notify=[])

        with self.app.app_context():
            transaction(work)

    def turn(self, project: int) -> Turn:
        with self.app.app_context():
            found: Turn = db.session.scalar(select(Review.turn).where(Review.project_id == project, Review.is_current))
            return found

    def stored(self, project: int) -> dict[str, Any]:
        with self.app.app_context():
            newest = select(RuleFacts.facts).where(RuleFacts.project_id == project).order_by(RuleFacts.id.desc())
            found: dict[str, Any] = db.session.scalars(newest).first()
            return {name: value for name, value in found.items() if name in conditions.OF_LINKS}


def state(word: str) -> dict[str, Any]:
    return {"url": {"state": word}, "repository_url": None}


def test_what_is_unknown_matches_nothing_and_is_judged_when_it_arrives(
    app: Flask,
    world: World,
    rules: Rules,
    ada: Caller,
) -> None:
    seeing = Seeing(app)
    gone, stars = rules.add(GONE, then="hold"), rules.add(FEW_STARS)
    not_ok = rules.add({"fact": "link_state", "is": "not in", "value": ["ok", "moved"]})
    rejecting, other = rules.add(GONE, then="reject"), rules.add(OTHER)
    project = rules.submit(ada)
    assert rules.matched() == {other: 1}
    assert seeing.stored(project) == {}
    seeing.see(project, links=state("gone"))
    assert seeing.turn(project) == Turn.RULE
    assert rules.matched() == {other: 1, gone: 1, not_ok: 1}  # no rule rejects for it, and no other judges again
    assert rejecting not in rules.matched()
    assert (gone, project, "hold", True) in rules.actions()
    item = rules.admin.get("/api/review/projects?held=true").json["items"][0]
    names = [f"rule:{each['name']}" for each in rules.listed() if each["id"] in {gone, not_ok}]
    assert {"link_gone", *names} <= {*item["warnings"]}
    # The repository's facts arrive later, and only the rules that ask for these judge.
    at, year_ago = timestamp(now() - timedelta(days=2)), timestamp(now() - timedelta(days=365))
    said = {"license": "MIT", "stars": 4, "archived": True, "created_at": year_ago, "pushed_at": at}
    seeing.see(project, repository=said)
    assert rules.matched() == {other: 1, gone: 1, not_ok: 1, stars: 1}
    stored = seeing.stored(project)
    assert [round(stored.pop(name)) for name in ("repository_days", "repository_pushed_days")] == [365, 2]
    assert stored == {
        "link_state": "gone", "repository_archived": True, "repository_stars": 4, "repository_license": "mit",
    }  # fmt: skip
    # The preview has them too.
    tried = {"name": "Try", "on": ["submission"], "when": [GONE, FEW_STARS], "then": "mark"}
    found = rules.admin.post("/api/admin/rules/preview", {"rule": tried, "days": 1}).json
    assert (found["evaluated"], found["matched"]) == (1, 1)


def test_an_edit_is_judged_by_what_is_known_and_changes_of_a_live_project_by_nothing_of_it(
    app: Flask,
    world: World,
    rules: Rules,
    ada: Caller,
) -> None:
    seeing, owner, root = Seeing(app), rules.world.caller(ada), world.admin()
    gone = rules.add(GONE, on=("submission", "edit"))
    project = rules.submit(ada)
    seeing.see(project, links=state("gone"))
    owner.put(f"/api/projects/{project}", {"tagline": "Another"})
    assert rules.matched() == {gone: 2}
    assert seeing.stored(project) == {"link_state": "gone"}
    # After a person's decision nothing is judged again.
    with app.app_context():
        transaction(lambda: moderation.decide(project, "reject", by=root, notify=[]))
    owner.put(f"/api/projects/{project}", {"tagline": "A third"})
    seeing.see(project, links=state("gone"))
    assert rules.matched() == {gone: 3}  # by the edit
    with app.app_context():
        transaction(lambda: moderation.decide(project, "approve", by=root, notify=[]))
    owner.put(f"/api/projects/{project}", {"title": "Another"})
    seeing.see(project, links=state("gone"))
    assert rules.matched() == {gone: 3}


def test_an_administrators_own_is_not_judged(app: Flask, rules: Rules) -> None:
    seeing, boss = Seeing(app), rules.world.admin("boss")
    rules.add(GONE)
    project = rules.submit(boss)
    seeing.see(project, links=state("gone"))
    assert rules.matched() == {}


def test_facts_that_are_not_stored_any_more_are_judged_all_the_same(
    app: Flask,
    rules: Rules,
    ada: Caller,
) -> None:
    gone, project = rules.add(GONE), rules.submit(ada)
    rules.change(RuleFacts.__table__.delete())
    Seeing(app).see(project, links=state("gone"))
    assert rules.matched() == {gone: 1}
    assert rules.facts() == []


@pytest.mark.parametrize(
    ("fact", "how", "value", "is_right"),
    [
        ("link_state", "=", "gone", True), ("link_state", "in", ["gone", "dead"], False),
        ("link_state", "=", "dead", False), ("repository_license", "in", [" MIT ", "GPL-3.0-only"], True),
        ("repository_license", "=", "", False), ("repository_license", "in", ["x" * 101], False),
        ("repository_license", "=", "a\nb", False), ("repository_archived", "=", True, True),
        ("repository_days", "<", 30, True), ("repository_pushed_days", ">=", "x", False),
    ],
)  # fmt: skip
def test_a_condition_about_links_has_a_value_that_they_can_have(
    fact: str, how: str, value: Any, is_right: bool
) -> None:
    refused = conditions.refusals([{"fact": fact, "is": how, "value": value}], ["submission"])
    assert (refused == []) is is_right


@pytest.mark.parametrize("value", ["MIT", ["mit"]])
def test_licences_are_compared_without_case(value: Any) -> None:
    how = "=" if isinstance(value, str) else "in"
    when = conditions.compiled([{"fact": "repository_license", "is": how, "value": value}])
    assert when.holds({"repository_license": "mit"}, None)  # type: ignore[arg-type]
    assert not when.holds({}, None)  # type: ignore[arg-type]
    assert not conditions.compiled([{**FEW_STARS}]).holds({"repository_stars": 5}, None)  # type: ignore[arg-type]
