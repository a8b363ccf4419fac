"""Rules: the facts of each submission, edit and registration, what they are judged by, and what a rule does."""

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, func, select, update

from directory.db.transactions import transaction
from directory.errors import RegistrationRefused
from directory.extensions import db, modify
from directory.extras.spam_rules import conditions, facts, judging, texts
from directory.extras.spam_rules.facts import is_disposable
from directory.extras.spam_rules.texts import number_of
from directory.models import AuditEntry, Project, Review, RuleAction, RuleDay, RuleFacts, SpamRule, User, now
from directory.runtime import housekeeping
from directory.services.accounts import accounts
from directory.services.clock import timestamp
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.identity import Caller
from directory.services.people import account_deletion
from directory.services.review import holding, moderation, submissions
from directory.services.text.keys import domain_of, text_key
from tests.conftest import Statements
from tests.support.factories import Api, World

TEXT = "A description of more than twenty characters."
ALWAYS = {"fact": "links", "is": ">=", "value": 0}
REASON = "This looks generated."


@pytest.fixture(autouse=True)
def _no_median_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "_medians", {})


@pytest.fixture
def ada(world: World) -> Caller:
    world.category("tools")
    return world.user("ada")


class Rules:
    """Rules over the API, and what members do."""

    def __init__(self, app: Flask, world: World) -> None:
        self.app, self.world = app, world
        self.admin = world.caller(world.admin("root"))

    def add(self, *when: Any, then: str = "mark", on: Any = ("submission",), state: str = "on", **more: Any) -> int:
        rule = {
            "name": f"Rule {len(self.listed())}",
            "on": [*on],
            "when": [*when],
            "then": then,
            "state": state,
            **more,
        }
        if then == "reject":
            rule.setdefault("reason", REASON)
            assert self.admin.post("/api/admin/rules/preview", {"rule": rule, "days": 1}).status_code == 200
        answer = self.admin.post("/api/admin/rules", rule)
        assert answer.status_code == 201, answer.json
        return int(answer.json["id"])

    def listed(self) -> list[Any]:
        return list(self.admin.get("/api/admin/rules").json["items"])

    def submit(self, by: Caller, **given: Any) -> int:
        number = now().timestamp()
        fields = {"title": "A tool", "tagline": "It does things", "category": "tools", "description": TEXT}
        fields |= {"url": f"https://example.org/{number}", **given}
        answer = self.world.caller(by).post("/api/projects", fields)
        assert answer.status_code == 201, answer.json
        return int(answer.json["id"])

    def facts(self, kind: str = "submission") -> list[tuple[int | None, dict[str, Any], bytes]]:
        with self.app.app_context():
            query = select(RuleFacts.project_id, RuleFacts.facts, RuleFacts.words).where(RuleFacts.kind == kind)
            return [tuple(row) for row in db.session.execute(query.order_by(RuleFacts.id))]

    def last(self, kind: str = "submission") -> dict[str, Any]:
        return self.facts(kind)[-1][1]

    def actions(self) -> list[tuple[Any, ...]]:
        columns = (RuleAction.rule_id, RuleAction.project_id, RuleAction.effect, RuleAction.acted)
        with self.app.app_context():
            return [tuple(row) for row in db.session.execute(select(*columns).order_by(RuleAction.id))]

    def matched(self) -> dict[int, int]:
        with self.app.app_context():
            return dict(db.session.execute(select(RuleDay.rule_id, RuleDay.matched)).all())

    def change(self, statement: Any) -> None:
        with self.app.app_context():
            transaction(lambda: db.session.execute(statement))


@pytest.fixture
def rules(app: Flask, world: World, ada: Caller) -> Rules:
    return Rules(app, world)


def test_each_fact_is_as_it_was_at_the_submission(app: Flask, world: World, rules: Rules, ada: Caller) -> None:
    rules.change(update(User).where(User.id == ada.id).values(created_at=now() - timedelta(hours=30)))
    first = rules.submit(
        ada, url="https://www.one.example.co.uk/x", description="See https://a.example, HTTP://b.example, www.c.org.",
        repository_url="https://code.example/ada/one",
    )  # fmt: skip
    found = rules.last()
    assert 30 <= found.pop("account_hours") < 30.1
    assert found == {
        "email_confirmed": False, "email_domain": "example.org", "email_disposable": False, "approved": 0,
        "rejected": 0, "submitted_24h": 0, "domain": number_of("example.co.uk"), "domain_live": 0,
        "domain_rejected": 0, "domain_waiting": 0, "links": 3, "text_of_rejected": False, "title_lookalike": False,
        "has_repository": True, "burst": 0.0,
    }  # fmt: skip
    assert set(found) | {"account_hours", "words"} | set(conditions.OF_LINKS) == set(conditions.FACTS)
    second = rules.submit(ada, url="https://two.example.co.uk")
    with app.app_context():
        transaction(lambda: moderation.decide(first, "approve", by=None, notify=[]))
        transaction(lambda: moderation.decide(second, "reject", by=None, notify=[]))
    world.change(ada, email="ada@mail.mailinator.com", email_verified_at=now())
    rules.submit(ada, url="https://example.co.uk/3", title="Рaypal", description=f"  {TEXT.upper()}\n")
    found = rules.last()
    counts = ("approved", "rejected", "submitted_24h", "domain_live", "domain_rejected", "domain_waiting", "burst")
    assert [found[name] for name in counts] == [1, 1, 2, 1, 1, 0, 2.0]
    assert [found[name] for name in ("email_confirmed", "email_domain", "email_disposable")] == [
        True, "mail.mailinator.com", True,
    ]  # fmt: skip
    assert (found["text_of_rejected"], found["title_lookalike"], found["has_repository"]) == (True, True, False)
    # What its owner has deleted still counts as theirs, and as no project of the domain.
    world.caller(ada).delete(f"/api/projects/{second}")
    rules.submit(ada, url="https://example.co.uk/4")
    found = rules.last()
    assert [found[name] for name in counts] == [1, 1, 3, 1, 0, 1, 3.0]
    assert found["text_of_rejected"] is False
    # Neither texts nor addresses are stored.
    stored = json.dumps([row[1] for row in rules.facts()])
    assert [each for each in ("example.co.uk", "tool", "127.0.0.1", "ada@") if each in stored] == []


def test_all_counts_leave_out_the_project_that_is_judged(app: Flask, rules: Rules, ada: Caller) -> None:
    project = rules.submit(ada, url="https://one.example.net")
    rules.world.caller(ada).put(f"/api/projects/{project}", {"tagline": "Another"})
    with app.app_context():
        transaction(lambda: moderation.decide(project, "reject", by=None, notify=[]))
    rules.world.caller(ada).put(f"/api/projects/{project}", {"tagline": "A third"})
    for _, found, _ in rules.facts("edit"):
        names = ("approved", "rejected", "submitted_24h", "domain_live", "domain_rejected", "domain_waiting", "burst")
        assert [found[name] for name in names] == [0] * 7
        assert found["text_of_rejected"] is False
    assert len(rules.facts("edit")) == 1  # the last one's


def test_a_burst_is_the_last_hour_over_the_median_hour_of_four_weeks(app: Flask, rules: Rules, ada: Caller) -> None:
    """In 336 of 672 hours there were 4 submissions, in one more 6: the two in the middle are 4 and 4."""
    hour = now().replace(minute=0, second=0, microsecond=0)
    entries = [
        {"action": "project.submitted", "at": hour - timedelta(hours=1 + n, minutes=-each), "project_id": 10**6}
        for n in range(337)
        for each in range(6 if n == 5 else 4)
    ]
    entries += [{"action": "project.submitted", "at": hour - timedelta(weeks=5), "project_id": 10**6}] * 9
    with app.app_context():
        transaction(lambda: db.session.execute(AuditEntry.__table__.insert(), entries))
    recent = sum(entry["at"] > now() - timedelta(hours=1) for entry in entries)
    rules.submit(ada)
    assert rules.last()["burst"] == recent / 4
    rules.submit(ada)  # by the median that the process has kept
    assert rules.last()["burst"] == (recent + 1) / 4


def test_words_are_whole_and_folded_and_come_from_all_texts(app: Flask, rules: Rules, ada: Caller) -> None:
    given = {"title": "Crème-Brûlée", "tagline": "casinos", "author": "Müller", "url": "https://poker.example.org"}
    words = words_of(**given, description="Win E-Mails today.", pictures=[{"alt": "Roulette"}])
    for word in (
        "creme",
        "BRULEE",
        "cremebrulee",
        "Casinos",
        "muller",
        "e-mails",
        "emails",
        "poker",
        "roulette",
        "org",
    ):
        assert conditions.compiled([{"fact": "words", "is": "in", "value": ["x", word]}]).holds({}, words), word
    for word in ("casino", "crem", "win-today", "roul"):
        assert conditions.compiled([{"fact": "words", "is": "not in", "value": [word]}]).holds({}, words), word
    for length in range(len(words.ordered)):
        cut = texts.Words(words.ordered[:length])
        assert texts.unpacked(texts.packed(cut)).ordered[:length] == cut.ordered
        assert texts.unpacked(texts.packed(cut)).runs(1) <= {*cut.ordered, texts.BETWEEN}


PLAIN = {"title": "A", "tagline": "B", "author": None, "url": "https://c.example", "description": "", "pictures": []}


def words_of(**given: Any) -> texts.Words:
    """The words of a project with these texts."""
    project = SimpleNamespace(**{**PLAIN, **given})
    return texts.words_of(project, texts.seen(project.description))


def has(phrase: str, **given: str) -> bool:
    """Whether a rule on a phrase finds it in a project, as it is judged and as it is stored."""
    condition = {"fact": "words", "is": "in", "value": [phrase]}
    assert conditions.refusals([condition], ["submission"]) == []
    compiled, words = conditions.compiled([condition]), words_of(**given)
    found = compiled.holds({}, words)
    assert compiled.holds({}, texts.unpacked(texts.packed(words))) is found
    return found


@pytest.mark.parametrize("description", [
    "re**jwo**rd", "r&#101;jword", "re<!-- -->jword", "re&shy;jword", "re\u00adjword", "<b>re</b>jword",
    "~~rejword~~", "[a](https://b.org 'rejword')", "[x][y]\n\n[y]: https://rejword.org", "[a](https://b.org/%72ejword)",
    "![rejword](https://b.org)", "<img alt='rejword'>", "`rejword`", "rеjwоrd", "REJWОRD", "гejwοrd rеjword",
    "<!-- rejword -->", "[rejword]: https://b.org", "ｒｅｊｗｏｒｄ", "r\u200be\u2060jword",
])  # fmt: skip
def test_a_word_is_found_as_readers_see_it_and_in_the_source(description: str) -> None:
    assert has("rejword", description=description)


@pytest.mark.parametrize(("phrase", "text", "is_there"), [
    ("free spins", "Get FREE spins!", True), ("free spins", "**free**\nspins", True),
    ("free spins", "spins free", False),
    ("free spins", "free of spins", False), ("free spins", "freespins", False), ("e-mail list", "an e mail list", True),
    ("one two three four five", "zero one, two three four five six", True),
    ("one two three four five", "one two three four six five", False),
    ("カジノ", "オンラインカジノです", True), ("カジノ", "カ・ジ・ノ", True),
    ("カジノ", "カジ ノ", True), ("カジノ", "ノカジ", False),
    ("オンラインカジノ", "一番オンラインカジノ一番", True), ("オンラインカジノ", "オンライン カジノ一番", True),
    ("オンラインカジノ", "オンライン、そしてカジノ", False),
    ("线上赌场", "最好的线上赌场。", True), ("คาสิโน", "เล่นคาสิโนออนไลน์", True),
    ("e-mail", "email", True), ("e-mail", "e mail", True), ("email", "e-mail", True), ("email", "e mail", False),
    ("casino", "саsino", True), ("casino", "саѕіпо саѕіnо", True), ("сор", "сор", True), ("cop", "сор и все", False),
    ("ваза", "это ваза", True),
])  # fmt: skip
def test_a_phrase_is_words_in_a_row_as_search_has_them(phrase: str, text: str, is_there: bool) -> None:
    for name in ("title", "tagline", "author", "description"):
        assert has(phrase, **{name: text}) is is_there, name


def test_the_words_of_two_texts_are_not_in_a_row() -> None:
    assert not has("free spins", title="Free", tagline="spins")
    assert not has("カジノ", title="カジ", tagline="ノ")


def test_words_that_were_stored_earlier_are_read_without_an_order() -> None:
    stored = b"".join(sorted(number_of(word).to_bytes(8, "big") for word in ("free", "spins", "casino")))
    words = texts.unpacked(stored)
    assert conditions.compiled([{"fact": "words", "is": "in", "value": ["Casino"]}]).holds({}, words)
    assert not conditions.compiled([{"fact": "words", "is": "in", "value": ["free spins"]}]).holds({}, words)


@pytest.mark.parametrize(("description", "number"), [
    ("[x](h&#116;tps://a.org)", 1), ("https\\://a.org", 1), ("http&#58;//a.org", 1),
    ("[a] [a] [a][]\n\n[a]: https://b.org", 3),
    ("![x](https://a.org)", 1), ("https://a.org www.b.org <https://c.org>", 3), ("[https://a.org](https://b.org)", 2),
    ("`https://a.org`", 1), ("[x](/path) [y](#z)", 0), ("<!-- https://a.org -->", 1),
    ("https&#58;//a.org https://b.org", 2),
    ("a.b@c.org node.js", 0),
])  # fmt: skip
def test_links_are_counted_as_often_as_they_are_shown(description: str, number: int) -> None:
    assert texts.seen(description).links == number


def test_the_words_of_a_long_description_take_little_room() -> None:
    """Ideographs take most: five bytes for each, where the text itself has three."""
    description = "".join(chr(0x4E00 + n) for n in range(9_990))
    stored = texts.packed(words_of(description=description))
    assert len(stored) < 1.8 * len(description.encode())


CASES: list[tuple[dict[str, Any], Any, bool]] = [
    ({"fact": "links", "is": "=", "value": 3}, 3, True), ({"fact": "links", "is": "=", "value": 3}, 4, False),
    ({"fact": "burst", "is": "<", "value": 2.5}, 2.4, True), ({"fact": "burst", "is": "<", "value": 2.5}, 2.5, False),
    ({"fact": "approved", "is": ">=", "value": 1}, 1, True), ({"fact": "approved", "is": ">=", "value": 1}, 0, False),
    ({"fact": "has_repository", "is": "=", "value": False}, False, True),
    ({"fact": "has_repository", "is": "=", "value": True}, False, False),
    ({"fact": "email_domain", "is": "=", "value": "Example.ORG"}, "example.org", True),
    ({"fact": "email_domain", "is": "in", "value": ["a.org", "münchen.example"]}, "xn--mnchen-3ya.example", True),
    ({"fact": "email_domain", "is": "not in", "value": ["a.org"]}, "a.org", False),
    ({"fact": "email_domain", "is": "=", "value": "*.a.org"}, "b.a.org", True),
    ({"fact": "email_domain", "is": "=", "value": "*.a.org"}, "a.org", False),
    ({"fact": "email_domain", "is": "in", "value": ["*.RU", "a.org"]}, "b.c.ru", True),
    ({"fact": "email_domain", "is": "in", "value": ["*.ru"]}, "xru", False),
    ({"fact": "email_domain", "is": "not in", "value": ["a.org", "*.a.org"]}, "b.a.org", False),
    ({"fact": "email_domain", "is": "not in", "value": ["*.münchen.example"]}, "a.xn--mnchen-3ya.example", False),
    ({"fact": "domain", "is": "in", "value": ["a.org", "b.co.uk"]}, number_of("b.co.uk"), True),
    ({"fact": "domain", "is": "not in", "value": ["a.org"]}, number_of("b.org"), True),
    ({"fact": "domain", "is": "=", "value": "a.org"}, None, False),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "value", "holds"), CASES)
def test_a_condition_holds_as_it_says(condition: dict[str, Any], value: Any, holds: bool) -> None:
    assert conditions.refusals([condition], ["submission"]) == []
    assert conditions.compiled([condition]).holds({condition["fact"]: value}, texts.Words()) is holds


def test_domains_are_registrable_and_keys_equal_as_search_folds() -> None:
    found = {
        "https://www.a.example.co.uk:8080/x": "example.co.uk", "https://ada.github.io/tool": "ada.github.io",
        "https://github.io": "github.io", "https://192.0.2.7/": "192.0.2.7", "https://[2001:db8::1]/": "[2001:db8::1]",
        "https://MÜNCHEN.example": "xn--mnchen-3ya.example", "ftp://old": None,
    }  # fmt: skip
    assert {url: domain_of(url) for url in found} == found
    assert [is_disposable(each) for each in ("mailinator.com", "x.mailinator.com", "example.org", "com")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert text_key("x" * 19) is text_key("   short  " + " " * 30) is None
    assert text_key("Ünïcode  text, twenty\n") == text_key("unicode text, TWENTY") != text_key("unicode text twenty")
    assert len({number_of(word) for word in ("a", "b", "ab")}) == 3
    assert 0 <= max(number_of(word) for word in "abcdefgh") < 2**63  # both databases hold it


def test_the_strongest_rule_wins_and_all_that_matched_are_noted(app: Flask, rules: Rules, ada: Caller) -> None:
    mark, hold, other = rules.add(ALWAYS), rules.add(ALWAYS, then="hold"), rules.add(ALWAYS, then="hold")
    dry = rules.add(ALWAYS, then="hold", state="dry")
    never, off = rules.add({**ALWAYS, "is": "<"}, then="hold"), rules.add(ALWAYS, state="off")
    project = rules.submit(ada)
    assert rules.actions() == [
        (mark, project, "mark", False),
        (hold, project, "hold", True),
        (other, project, "hold", False),
    ]
    assert rules.matched() == dict.fromkeys((mark, hold, other, dry), 1)
    assert {never, off}.isdisjoint(rules.matched())
    shown = rules.world.caller(ada).get(f"/api/projects/{project}").json
    assert (shown["status"], shown["review"]["held"]) == ("pending", True)
    reject = rules.add(ALWAYS, then="reject")
    project = rules.submit(ada)
    assert [row for row in rules.actions() if row[3]][-1] == (reject, project, "reject", True)
    shown = rules.world.caller(ada).get(f"/api/projects/{project}").json
    assert (shown["status"], shown["rejection_reason"]) == ("rejected", REASON)
    with app.app_context():
        query = select(AuditEntry.action, AuditEntry.actor_id, AuditEntry.rule_id).where(
            AuditEntry.project_id == project
        )
        assert [tuple(row) for row in db.session.execute(query.order_by(AuditEntry.id))] == [
            ("project.submitted", ada.id, None), ("project.rejected", None, reject),
        ]  # fmt: skip
    [days] = [rule["days"] for rule in rules.listed() if rule["id"] == mark]
    assert (len(days), days[-1]["matched"], sum(day["matched"] for day in days)) == (30, 2, 2)


def test_an_edit_is_judged_by_rules_for_edits_and_until_a_person_decides_by_those_for_submissions(
    app: Flask, rules: Rules, ada: Caller
) -> None:
    word = {"fact": "words", "is": "in", "value": ["casino"]}
    of_edits, of_submissions = rules.add(word, on=("edit",)), rules.add(word, on=("submission",))
    owner, project = rules.world.caller(ada), rules.submit(ada)

    def edited(**fields: Any) -> list[int]:
        """The rules that note something on the project after an edit."""
        assert owner.put(f"/api/projects/{project}", fields).status_code == 200
        return [rule for rule, *_ in rules.actions()]

    def judged() -> int:
        """The number of what was judged last."""
        with app.app_context():
            return db.session.scalars(select(func.max(RuleFacts.id))).one()

    assert edited(tagline="A casino") == [of_edits, of_submissions]
    assert edited(tagline="A tool") == []  # the notes of before have gone
    before = judged()
    assert edited(tagline="A tool") == []
    assert judged() == before  # what changes nothing is not judged
    with app.app_context():
        transaction(lambda: moderation.decide(project, "reject", by=None, notify=[]))  # by the operator, no person
    assert edited(tagline="Casino") == [of_edits, of_submissions]
    root = rules.admin
    assert root.put(f"/api/review/projects/{project}/reject", {}).status_code == 200
    assert edited(tagline="Casino again") == [of_edits]
    assert root.put(f"/api/review/projects/{project}/approve").status_code == 200
    number = judged()
    assert edited(tags=["casino"]) == [of_edits]  # applies at once, so nobody judges it
    assert judged() == number
    assert edited(title="The casino") == [of_edits]
    assert judged() == number + 1
    with app.app_context():
        [note] = db.session.execute(
            select(RuleAction.of_revision, RuleAction.version, Project.version).join(Project)
        ).all()
    assert (note[0], note[1]) == (True, note[2])
    assert root.put(f"/api/projects/{project}", {"title": "Casino of an administrator"}).status_code == 200
    assert judged() == number + 1


@pytest.mark.parametrize(
    ("effect", "act"),
    [
        ("hold", "release"), ("hold", "revert"), ("hold", "approval"), ("reject", "release"), ("reject", "revert"),
        *(pytest.param("reject", act, marks=pytest.mark.extra("appeals")) for act in ("reversed", "upheld")),
    ],
)  # fmt: skip
def test_what_a_person_put_back_or_settled_is_not_judged_by_rules_for_submissions_again(
    make_app: Any, effect: str, act: str
) -> None:
    app = make_app(APPEALS="on" if act in {"reversed", "upheld"} else "off", APPROVALS_REQUIRED="2")
    rules = Rules(app, World(app))
    rules.world.category("tools")
    ada = rules.world.user()
    owner = rules.world.caller(ada)
    rule = rules.add({"fact": "words", "is": "in", "value": ["casino"]}, then=effect, on=("submission",))
    project = rules.submit(ada, title="Casino games")
    path, root = f"/api/review/projects/{project}", rules.admin
    if act == "revert":
        since = timestamp(now() - timedelta(hours=1))
        assert root.post(f"/api/admin/rules/{rule}/revert", {"since": since}).json == {"number": 1}
    elif act in {"reversed", "upheld"}:
        assert owner.post(f"/api/projects/{project}/appeal", {"text": "It is a game."}).status_code == 201
        assert root.put(f"{path}/appeal", {"outcome": act, "reason": "Seen."}).status_code == 200
    else:
        assert root.put(f"{path}/{'approve' if act == 'approval' else act}").status_code == 200
    for tagline in ("A longer one", "Another one"):
        answer = owner.put(f"/api/projects/{project}", {"tagline": tagline}).json
        assert (answer["status"], answer["review"]["held"]) == ("pending", False)


def test_a_release_by_time_is_no_decision_of_a_person(app: Flask, rules: Rules, ada: Caller) -> None:
    rules.add({"fact": "words", "is": "in", "value": ["casino"]}, then="hold", on=("submission",))
    project, owner = rules.submit(ada, title="Casino games"), rules.world.caller(ada)
    with app.app_context():
        transaction(lambda: modify(update(Review).values(until=now())))
        assert transaction(lambda: holding.release_due(10)) == 1
    assert owner.get(f"/api/projects/{project}").json["review"]["held"] is False
    assert owner.put(f"/api/projects/{project}", {"tagline": "Another one"}).json["review"]["held"] is True


def test_an_edit_that_a_rule_holds_again_is_held_no_longer(rules: Rules, ada: Caller) -> None:
    rules.add({"fact": "words", "is": "in", "value": ["casino"]}, then="hold", on=("submission", "edit"))
    project = rules.submit(ada, title="Casino games")
    until = rules.world.case(project).until
    answer = rules.world.caller(ada).put(f"/api/projects/{project}", {"tagline": "Another one"}).json
    assert answer["review"]["held"] is True
    assert rules.world.case(project).until == until


def test_a_rule_may_hold_or_reject_the_changes_of_a_live_project(app: Flask, rules: Rules, ada: Caller) -> None:
    project = rules.world.project(ada)
    owner = rules.world.caller(ada)
    hold = rules.add({"fact": "words", "is": "in", "value": ["casino"]}, on=("edit",), then="hold")
    owner.put(f"/api/projects/{project}", {"title": "Casino"})
    shown = owner.get(f"/api/projects/{project}").json
    assert (shown["status"], shown["review"]["held"]) == ("live", True)
    reject = rules.add({"fact": "words", "is": "in", "value": ["poker"]}, on=("edit",), then="reject")
    owner.put(f"/api/projects/{project}", {"title": "Poker casino"})
    shown = owner.get(f"/api/projects/{project}").json
    assert (shown["status"], shown["revision"]["reason"], shown["review"]) == ("live", REASON, None)
    assert [row for row in rules.actions() if row[3]] == [
        (hold, project, "hold", True),
        (reject, project, "reject", True),
    ]
    with app.app_context():
        noted = db.session.scalar(select(RuleAction.version).where(RuleAction.rule_id == reject))
        assert noted == db.session.scalar(select(Project.version).where(Project.id == project))


def test_administrators_imports_and_commands_are_not_judged(app: Flask, rules: Rules, ada: Caller) -> None:
    rules.add(ALWAYS, then="reject")
    rules.add({"fact": "email_domain", "is": "=", "value": "example.org"}, then="reject", on=("registration",))
    root = rules.world.admin()
    project = rules.submit(root)
    rules.world.caller(root).put(f"/api/projects/{project}", {"title": "Other"})
    with app.app_context():
        transaction(lambda: accounts.register("op", "op@example.org", "", by_command=True))
        transaction(lambda: submissions.submit(
            {"title": "I", "tagline": "i", "url": "https://i.example", "category": "tools", "description": ""},
            by=ada, notify=[],
        ))  # fmt: skip
        assert {status for (status,) in db.session.execute(select(Project.status))} == {"pending"}
    assert (rules.facts(), rules.facts("edit"), rules.facts("registration"), rules.matched()) == ([], [], [], {})
    reviewer = rules.world.reviewer()
    assert rules.world.caller(reviewer).get(f"/api/projects/{rules.submit(reviewer)}").json["status"] == "rejected"


REGISTRATION = {"username": "newcomer", "email": "newcomer@mailinator.com", "password": "correct horse battery"}


def test_a_registration_that_a_rule_refuses_leaves_nothing_but_its_number(app: Flask, rules: Rules) -> None:
    anonymous = Api(app)
    dry = rules.add(
        {"fact": "email_confirmed", "is": "=", "value": False}, on=("registration",), then="reject", state="dry"
    )
    assert (
        anonymous.post(
            "/api/auth/register", {**REGISTRATION, "username": "first", "email": "f@example.net"}
        ).status_code
        == 201
    )
    [(project, found, words)] = rules.facts("registration")
    assert (project, words) == (None, b"")
    assert found == {"email_confirmed": False, "email_domain": "example.net", "email_disposable": False}
    rule = rules.add({"fact": "email_disposable", "is": "=", "value": True}, on=("registration",), then="reject")
    answer = anonymous.post("/api/auth/register", REGISTRATION)
    assert (answer.status_code, answer.json["code"], answer.json["detail"]) == (403, "registration_refused", REASON)
    assert "Set-Cookie" not in answer.headers
    with app.app_context():
        assert db.session.scalar(select(func.count()).where(User.username == "newcomer")) == 0
        # A provider's account too.
        given: Any = {"is_confirmed": True, "judge": judging.on_submit}
        with pytest.raises(RegistrationRefused):
            transaction(lambda: accounts.register("p", "p@mailinator.com", "", **given))
    assert len(rules.facts("registration")) == 1
    assert rules.matched() == {dry: 2, rule: 1}


def test_matches_are_counted_by_rule_and_present_state(make_app: Any, rules: Rules, ada: Caller) -> None:
    dry, later_off, never = rules.add(ALWAYS, state="dry"), rules.add(ALWAYS), rules.add({**ALWAYS, "value": 9})
    for _ in range(2):
        rules.submit(ada)
    assert rules.admin.put(f"/api/admin/rules/{later_off}", {"state": "off"}).status_code == 200
    rules.submit(ada)
    text = Api(make_app(METRICS_ENABLED="true")).get("/metrics").text
    names = {rule["id"]: rule["name"] for rule in rules.listed()}
    found = {line for line in text.splitlines() if line.startswith("directory_rule_matches_total")}
    assert found >= {
        f'directory_rule_matches_total{{rule="{names[dry]}",state="dry"}} 3.0',
        f'directory_rule_matches_total{{rule="{names[later_off]}",state="off"}} 2.0',
        f'directory_rule_matches_total{{rule="{names[never]}",state="on"}} 0.0',
    }


def test_judging_takes_two_statements_and_one_more_each_for_numbers_and_notes(
    app: Flask, rules: Rules, ada: Caller, statements: Statements
) -> None:
    """Of these, the rules read again after a change of them are not one: that happens once in a process."""

    def judged() -> list[str]:
        statements.clear()
        rules.submit(ada)
        return [each for each in statements if "rule" in each and "audit_entries (" not in each]

    judged()
    assert [each.split()[0] for each in judged()] == ["WITH", "INSERT"]
    rules.add({**ALWAYS, "is": "<"})
    judged()
    assert [each.split()[0] for each in judged()] == ["WITH", "INSERT"]
    for _ in range(3):
        rules.add(ALWAYS)
    judged()
    found = judged()
    assert [each.split("(")[0].split()[:3] for each in found[1:]] == [
        ["INSERT", "INTO", "rule_facts"], ["INSERT", "INTO", "rule_days"], ["INSERT", "INTO", "rule_actions"],
    ]  # fmt: skip


def test_a_change_compiles_the_changed_rule_alone(
    app: Flask, rules: Rules, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule may have ten thousand words, and a submission waits for them."""
    compiled: list[Any] = []
    monkeypatch.setattr(judging, "compiled", lambda when: compiled.append(when) or conditions.compiled(when))
    changed, other = rules.add(ALWAYS), rules.add(ALWAYS, then="hold")
    rules.submit(ada)
    assert compiled == [[ALWAYS], [ALWAYS]]
    never = {**ALWAYS, "value": 9}
    given = {"when": [never], "state": "on"}
    assert rules.admin.put(f"/api/admin/rules/{changed}", given).status_code == 200
    project = rules.submit(ada)
    assert compiled[2:] == [[never]]
    assert [each for each in rules.actions() if each[1] == project] == [(other, project, "hold", True)]
    assert rules.admin.put(f"/api/admin/rules/{other}", {"state": "off"}).status_code == 200
    project = rules.submit(ada)
    assert (compiled[3:], [each for each in rules.actions() if each[1] == project]) == ([], [])


def test_a_rule_that_fails_is_passed_over_logged_and_counted(
    app: Flask, rules: Rules, ada: Caller, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, unread, missing = rules.add(ALWAYS), rules.add(ALWAYS, then="hold"), rules.add(ALWAYS, then="hold")
    failures: list[int] = []
    monkeypatch.setattr(judging, "on_failure", [lambda: failures.append(1)])
    rules.change(update(SpamRule).where(SpamRule.id == unread).values(conditions=[{"fact": "gone"}], version=9))
    rules.change(
        update(SpamRule).where(SpamRule.id == missing).values(conditions=[{**ALWAYS, "value": "x"}], version=9)
    )
    project = rules.submit(ada)
    assert rules.actions() == [(mark, project, "mark", False)]
    assert len(failures) == 2
    failed = [record for record in caplog.records if record.message == "a rule failed"]
    assert [vars(record)["rule"] for record in failed] == [unread, missing]


def test_facts_go_with_the_account_and_after_their_days(app: Flask, rules: Rules, ada: Caller) -> None:
    rules.submit(ada)
    rules.submit(rules.world.user())
    with app.app_context():
        transaction(lambda: account_deletion.delete_user(ada.id, by=None, notify=[]))
        assert db.session.scalar(select(func.count()).where(RuleFacts.account_id == ada.id)) == 0
    assert len(rules.facts()) == 1
    old = now() - timedelta(days=366)
    rules.change(update(RuleFacts).values(at=old))
    housekeeping.tidy(app, DeliveryPolicy())
    assert rules.facts() == []
    rules.change(delete(SpamRule))
