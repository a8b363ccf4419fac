"""The preview of a rule against an oracle: the stored facts judged one by one in plain Python."""

import random
from collections import Counter
from datetime import timedelta
from typing import Any

from flask import Flask
from sqlalchemy import event, insert, select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.spam_rules import preview
from directory.extras.spam_rules.texts import Words, number, number_of, packed, unpacked
from directory.models import RuleFacts, now
from directory.services.identity import Caller
from directory.services.people import administration
from tests.conftest import Statements
from tests.support.factories import World

WORDS, DOMAINS, MAIL = ("casino", "tool", "win", "free"), ("a.org", "b.co.uk", "c.net"), ("mail.org", "m.net")
NUMBERS = ("account_hours", "approved", "rejected", "submitted_24h", "domain_live", "domain_rejected", "domain_waiting",
           "links", "burst")  # fmt: skip
TRUTHS = ("email_confirmed", "email_disposable", "text_of_rejected", "title_lookalike", "has_repository")
KINDS = ("submission", "edit", "registration")


class Past:
    """Projects of every outcome, suspended and other accounts, and random facts about them; and the oracle."""

    def __init__(self, app: Flask, world: World, seed: int) -> None:
        self.app, self.chance = app, random.Random(seed)
        self.ada, self.bob = world.user(), world.user()
        live = {state: world.project(self.ada, state) for state in ("live", "rejected", "pending")}
        down, gone, never, revised, refused = (world.project(self.ada) for _ in range(5))
        root = world.admin()
        api = world.caller(root)
        never = world.project(self.ada, "pending")
        api.put(f"/api/admin/projects/{down}/unpublish", {})
        for project in (gone, never):
            api.delete(f"/api/projects/{project}")
        for project in (revised, refused):
            world.revise(project, self.ada, title="Other")
        api.put(f"/api/admin/projects/{refused}/reject", {})
        with app.app_context():
            transaction(lambda: administration.administer(self.bob.id, role=None, status="suspended", by=root))
        # The outcome of a submission, and of an edit long before now and of one just now.
        self.outcomes = {
            live["live"]: ("approved",) * 3, live["rejected"]: ("rejected",) * 3, live["pending"]: ("waiting",) * 3,
            down: ("taken_down",) * 3, gone: ("taken_down",) * 3, never: ("rejected",) * 3,
            revised: ("approved", "waiting", "waiting"), refused: ("approved", "rejected", "approved"),
        }  # fmt: skip
        self.present = {*self.outcomes} - {gone, never}
        self.rows = [self._row() for _ in range(300)]
        with app.app_context():
            transaction(lambda: db.session.execute(insert(RuleFacts), self.rows))

    def _row(self) -> dict[str, Any]:
        pick, kind = self.chance.choice, self.chance.choice(KINDS)
        facts: dict[str, Any] = {name: pick((True, False)) for name in TRUTHS} | {"email_domain": pick(MAIL)}
        if kind != "registration":
            facts |= {name: pick((0, 1, 2, 5.5)) for name in NUMBERS} | {"domain": number_of(pick(DOMAINS))}
        words = [number(word) for word in WORDS if pick((True, False))]
        project = None if kind == "registration" else pick([*self.outcomes])
        days = pick((0, 5, 29, 31)) if kind != "edit" else pick((0, 0, 20))
        return {
            "kind": kind, "at": now() - timedelta(days=days, seconds=-1 if kind == "edit" and not days else 1),
            "project_id": project, "account_id": pick((self.ada.id, self.bob.id)), "facts": facts,
            "words": packed(Words(tuple(words))),
        }  # fmt: skip

    def condition(self) -> dict[str, Any]:
        pick = self.chance.choice
        name = pick((*NUMBERS, *TRUTHS, "email_domain", "domain", "words"))
        if name in NUMBERS:
            return {"fact": name, "is": pick(("=", "<", ">=")), "value": pick((0, 1, 2, 5.5))}
        if name in TRUTHS:
            return {"fact": name, "is": "=", "value": pick((True, False))}
        values = {"email_domain": MAIL, "domain": DOMAINS, "words": WORDS}[name]
        how = pick(("in", "not in") if name == "words" else ("=", "in", "not in"))
        return {"fact": name, "is": how, "value": pick(values) if how == "=" else [pick(values), pick(values)]}

    def expected(self, on: list[str], when: list[dict[str, Any]], days: int) -> dict[str, Any]:
        rows = [row for row in self.rows if row["kind"] in on and row["at"] >= now() - timedelta(days=days)]
        matched = [row for row in rows if all(self._holds(row, each) for each in when)]
        by_outcome = Counter(map(self._outcome, matched))
        return {
            "evaluated": len(rows), "matched": len(matched),
            "by_outcome": {name: by_outcome[name] for name in preview.OUTCOMES},
            "examples": {
                name: {row["project_id"] for row in matched if self._outcome(row) == name} & self.present
                for name in preview.OUTCOMES
            },
        }  # fmt: skip

    def _outcome(self, row: dict[str, Any]) -> str:
        if row["kind"] == "registration":
            return "approved" if row["account_id"] == self.ada.id else "rejected"
        late = row["at"] > now() - timedelta(days=1)
        return str(self.outcomes[row["project_id"]][0 if row["kind"] == "submission" else 2 if late else 1])

    def _holds(self, row: dict[str, Any], condition: dict[str, Any]) -> bool:
        name, how, value = condition["fact"], condition["is"], condition["value"]
        if name == "words":
            has = {word for word in WORDS if number(word) in unpacked(row["words"]).ordered}
            return bool(has & {*value}) == (how == "in")
        if name not in row["facts"]:
            return False
        fact = row["facts"][name]
        if name == "domain":
            fact = next(domain for domain in DOMAINS if number_of(domain) == fact)
        if how in {"in", "not in"}:
            return (fact in value) == (how == "in")
        return bool(fact < value if how == "<" else fact >= value if how == ">=" else fact == value)


def test_a_preview_says_what_plain_python_says(app: Flask, world: World) -> None:
    past = Past(app, world, seed=22)
    for _ in range(40):
        on = past.chance.sample(KINDS, past.chance.randint(1, 3))
        when = [past.condition() for _ in range(past.chance.randint(1, 2))]
        days = past.chance.choice((1, 30, 365))
        with app.app_context():
            found = preview.run(on, when, days)
        found.pop("unknown")
        found["examples"] = {name: {each["id"] for each in some} for name, some in found["examples"].items()}
        assert found == past.expected(on, when, days), (on, when, days)


ALWAYS = [{"fact": "links", "is": ">=", "value": 0}]


def test_what_has_no_facts_is_unknown_and_examples_are_the_newest_twenty(app: Flask, world: World, ada: Caller) -> None:
    projects = [world.project(ada, "pending") for _ in range(25)]
    world.project(world.admin(), "pending")  # of an administrator, whom nobody judges
    with app.app_context():
        assert preview.run(["submission"], ALWAYS, 30) == {
            "evaluated": 0, "unknown": 25, "matched": 0, "by_outcome": dict.fromkeys(preview.OUTCOMES, 0),
            "examples": {name: [] for name in preview.OUTCOMES},
        }  # fmt: skip
        at = now() - timedelta(hours=1)
        rows = [
            {"kind": "submission", "at": at + timedelta(seconds=n), "project_id": project, "account_id": ada.id,
             "facts": {"links": n}, "words": b""}
            for n, project in enumerate(projects[:23])
        ]  # fmt: skip
        transaction(lambda: db.session.execute(insert(RuleFacts), rows))
        found = preview.run(["submission"], ALWAYS, 1)
        assert (found["evaluated"], found["unknown"], found["matched"]) == (23, 2, 23)
        assert [each["id"] for each in found["examples"]["waiting"]] == projects[22:2:-1]


def test_a_preview_takes_four_statements_that_use_indexes_however_much_there_is(
    app: Flask, world: World, statements: Statements
) -> None:
    past = Past(app, world, seed=1)
    plans: list[str] = []
    with app.app_context():
        for many in (False, True):
            statements.clear()
            preview.run([*KINDS], [past.condition()], 365 if many else 1)
            assert len([each for each in statements if each.startswith("SELECT")]) <= 4
        explain = "EXPLAIN " if db.engine.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN "
        statements.clear()
        captured: list[tuple[str, Any]] = []
        event.listen(db.engine, "before_cursor_execute", lambda *args: captured.append((args[2], args[3])))
        preview.run(["submission"], ALWAYS, 30)
        with db.engine.connect() as connection:
            if explain == "EXPLAIN ":
                connection.exec_driver_sql("ANALYZE")  # else the plan depends on when the server last did it by itself
                connection.exec_driver_sql("SET enable_seqscan = off")
            for sql, given in [each for each in captured if "rule_facts" in each[0]]:
                plans += [str(row) for row in connection.exec_driver_sql(explain + sql, given)]
    text = " ".join(plans)
    assert "ix_rule_facts_kind_at" in text
    assert "ix_audit_entries_project_id_id" in text


def test_the_facts_of_an_edit_take_the_place_of_those_of_the_projects_last_one(app: Flask, world: World) -> None:
    ada = world.user("ada")
    projects, caller = [world.project(ada, "pending") for _ in range(2)], world.caller(ada)
    for times in (1, 2, 3):
        for project in projects:
            caller.put(f"/api/projects/{project}", {"description": "https://a.example/ " * times})
    with app.app_context():
        rows = db.session.execute(select(RuleFacts.project_id, RuleFacts.facts).where(RuleFacts.kind == "edit")).all()
    assert sorted((row.project_id, row.facts["links"]) for row in rows) == [(each, 3) for each in projects]
    rule = {"name": "A", "on": ["edit"], "when": [{"fact": "links", "is": ">=", "value": 1}], "then": "mark"}
    asked = {"rule": rule | {"reason": None, "state": "off"}, "days": 1}
    found = world.caller(world.admin()).post("/api/admin/rules/preview", asked).json
    assert (found["evaluated"], found["unknown"], found["matched"]) == (2, 0, 2)
