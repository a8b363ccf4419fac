"""What people read about the state of a project: on its page, in the list of its owner, the form, and the mail."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert

from directory.extensions import db
from directory.models import REJECTIONS, Asked, Effect, Outcome, RuleAction, Turn
from directory.runtime import housekeeping
from directory.services import turn_words
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.drafts import Draft, Verdict
from tests.pages.conftest import text_of
from tests.support.browsers import Browser
from tests.support.factories import World
from tests.support.mailbox import Mailbox
from tests.support.outbox import delivery_thread, quick, send_all

WHY, ASKED = "It has no licence.", "Which licence does it have?"
BY_RULE = "No casinos here."


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with Mailbox() as one:
        yield one


class Scene:
    """A project of ada's, what a reviewer does about it, and what ada reads then."""

    def __init__(self, app: Flask, mailbox: Mailbox) -> None:
        self.app, self.mailbox, self.world = app, mailbox, World(app)
        self.ada, self.judge = self.world.user("ada"), self.world.reviewer(self.world.category("tools"))
        self.root, self.eve = self.world.caller(self.world.admin("root")), self.world.caller(self.judge)
        self.owner, self.browser = self.world.caller(self.ada), Browser(app).sign_in("ada")
        self.id = 0

    def live(self) -> "Scene":
        self.id = self.world.project(self.ada)
        return self

    def pending(self) -> "Scene":
        self.id = self.world.project(self.ada, "pending")
        return self

    def revised(self) -> "Scene":
        self.live()
        return self.edited()

    def edited(self) -> "Scene":
        assert self.owner.put(f"/api/projects/{self.id}", {"title": "Another title"}).status_code == 200
        return self

    def decided(self, decision: str, **body: str) -> "Scene":
        assert self.root.put(f"/api/admin/projects/{self.id}/{decision}", body).status_code == 200
        return self

    def asked(self) -> "Scene":
        return self.decided("request-changes", message=ASKED)

    def ruled(self, then: str) -> "Scene":
        """Its owner edits it, and a rule acts."""

        def judge(draft: Draft) -> Verdict:
            project, effect = draft.after, Effect(then)
            version = project.version + (effect is Effect.REJECT)
            acted = {"rule_id": 7, "rule_name": "Casinos", "effect": effect, "acted": True, "version": version}
            row = {**acted, "project_id": project.id, "of_revision": draft.of_changes, "at": draft.at}
            return Verdict(lambda _account: db.session.execute(insert(RuleAction), [row]), effect, BY_RULE, rule_id=7)

        self.app.extensions["judge"] = judge
        self.owner.put(f"/api/projects/{self.id}", {"description": "The best casino."})
        return self

    def passed(self, days: int) -> "Scene":
        """So many days go by."""
        self.world.age(self.id, days=days)
        housekeeping.tidy(self.app, DeliveryPolicy())
        return self

    def appealed(self) -> "Scene":
        self.world.appeal(self.id, self.ada)
        return self

    def settled(self, outcome: str) -> "Scene":
        body = {"outcome": outcome, "reason": "We looked again."}
        assert self.eve.put(f"/api/review/projects/{self.id}/appeal", body).status_code == 200
        return self

    @property
    def until(self) -> str:
        """The date by which ada has to answer, in words."""
        closes_at = self.owner.get(f"/api/projects/{self.id}").json["review"]["closes_at"]
        return str(turn_words.instant(datetime.fromisoformat(closes_at)))

    def pages(self) -> dict[str, str]:
        addresses = {"page": f"/mine/{self.id}", "form": f"/mine/{self.id}/edit", "list": "/mine"}
        return {name: text_of(self.browser.get(address)) for name, address in addresses.items()}

    def mails(self) -> list[str]:
        """The texts of the mails that are sent now, one line each."""
        [server] = [each for each in self.app.extensions["webhooks"] if each.format == "mail"]
        before = len(self.mailbox.taken)
        send_all(delivery_thread(self.app, server, quick()))
        return [" ".join(taken.text.split()) for taken in self.mailbox.taken[before:]]


BACK = "Give it back to the reviewers by {until}, with an edit or an answer. Otherwise it is rejected."
CHANGES_BACK = "Give your changes back to the reviewers by {until}, with an edit or an answer."
DOWN = "It was taken down before."
# How it comes to a state; the words of the page and the form; those of the list; and those of the last mail.
STATES: dict[str, tuple[Callable[[Scene], Any], list[str], list[str], list[str]]] = {
    "new": (
        lambda it: it.pending(), ["This project is waiting for review", "It is number 1 in the queue."],
        ["In review", "Number 1 in the queue"], [],
    ),
    "asked, never live": (
        lambda it: it.pending().asked(),
        ["The reviewers ask for changes", f"What is asked: {ASKED}", BACK], ["Changes asked for", ASKED, BACK],
        ["Before it can be accepted, the reviewers ask for changes:", ASKED, BACK],
    ),
    "asked, after it was taken down and edited": (
        lambda it: it.live().decided("unpublish", reason=WHY).edited().asked(),
        ["The reviewers ask for changes", ASKED, f"Why it was taken down: {WHY}", DOWN, BACK],
        ["Changes asked for", ASKED, WHY, BACK], [ASKED, DOWN, BACK],
    ),
    "taken down with a reason": (
        lambda it: it.live().decided("unpublish", reason=WHY),
        ["This project was taken down", f"Reason: {WHY}", BACK], ["Taken down", WHY, BACK],
        ["was taken off the site.", f"The reason: {WHY}", BACK],
    ),
    "taken down without a reason": (
        lambda it: it.live().decided("unpublish"), ["This project was taken down", BACK], ["Taken down", BACK],
        ["was taken off the site.", BACK],
    ),
    "changes wait": (
        lambda it: it.revised(), ["Changes are waiting for review", "The changes to title are waiting for review."],
        ["Live", "In review", "Changes wait for review, number 1"], [],
    ),
    "changes, asked": (
        lambda it: it.revised().asked(), ["The reviewers ask for changes", ASKED, CHANGES_BACK],
        ["Live", "Changes asked for", ASKED, CHANGES_BACK], [ASKED, CHANGES_BACK],
    ),
    "held": (
        lambda it: it.pending().ruled("hold"),
        ["This project is waiting for review", "A rule of this site holds it out of the queue"],
        ["In review", "Held for a closer look"], [],
    ),
    "changes, held": (
        lambda it: it.live().ruled("hold"),
        ["Changes are waiting for review", "A rule of this site holds them out of the queue"], ["In review"], [],
    ),
    "rejected by a person": (
        lambda it: it.pending().decided("reject", reason=WHY),
        ["This project was rejected", WHY, "Change it, and send it again."], ["Rejected", WHY],
        ["was reviewed and not accepted.", WHY],
    ),
    "rejected by a rule": (
        lambda it: it.pending().ruled("reject"),
        ["A rule of this site rejected this project", BY_RULE], ["Rejected", BY_RULE],
        ["A rule of the site rejected your project", BY_RULE],
    ),
    "rejected by time": (
        lambda it: it.pending().asked().passed(31),
        ["This project was rejected, because no answer came in time", "No answer within 30 days."], ["Rejected"],
        ["was rejected, because the time for your answer has passed."],
    ),
    "changes, rejected by a person": (
        lambda it: it.revised().decided("reject", reason=WHY), ["The last changes were not accepted", WHY],
        ["Live", "Rejected", WHY], ["were reviewed and not accepted. The project stays live as it was."],
    ),
    "changes, rejected by a rule": (
        lambda it: it.live().ruled("reject"), ["A rule of this site rejected the last changes"], ["Live", "Rejected"],
        ["A rule of the site rejected your changes to"],
    ),
    "changes, rejected by time": (
        lambda it: it.revised().asked().passed(31), ["The last changes were rejected, because no answer came in time"],
        ["Live", "Rejected"], ["were rejected, because the time for your answer has passed."],
    ),
    "an appeal is open": (
        lambda it: it.pending().decided("reject", reason=WHY).appealed(),
        ["A decision about this project is looked at again", f"Reason of the decision: {WHY}"], ["Appeal", WHY],
        ["was reviewed and not accepted."],
    ),
    "an appeal of what was taken down is open": (
        lambda it: it.live().decided("unpublish", reason=WHY).appealed(),
        ["A decision about this project is looked at again", WHY], ["Appeal", WHY], ["was taken off the site."],
    ),
    "an appeal was upheld": (
        lambda it: it.live().decided("unpublish", reason=WHY).appealed().settled("upheld"),
        ["This project was taken down", WHY, BACK], ["Taken down", BACK], ["The decision stays:", BACK],
    ),
    "an appeal was reversed": (
        lambda it: it.pending().decided("reject", reason=WHY).appealed().settled("reversed"),
        ["This project is waiting for review"], ["In review"], ["the decision was reversed:"],
    ),
}  # fmt: skip


@pytest.fixture
def scene(make_app: Any, mailbox: Mailbox) -> Scene:
    return Scene(make_app(APPEALS="on", **mailbox.settings), mailbox)


def _with_extra(name: str) -> Any:
    return pytest.param(name, marks=[pytest.mark.extra("appeals")] if "an appeal was" in name else [])


@pytest.mark.parametrize("name", [_with_extra(name) for name in STATES])
def test_the_owner_reads_where_the_project_stands_and_what_to_do(scene: Scene, name: str) -> None:
    reach, on_page, in_list, in_mail = STATES[name]
    reach(scene)
    until = scene.until if any("{until}" in text for text in [*on_page, *in_mail]) else ""
    found = scene.pages()
    for where, texts in (("page", on_page), ("form", on_page), ("list", in_list)):
        for text in texts:
            assert text.format(until=until) in found[where], where
    mails = scene.mails()
    assert bool(mails) is bool(in_mail)
    for text in in_mail:
        assert text.format(until=until) in mails[-1]
    if not any("taken down" in text for text in on_page):
        assert "taken down" not in f"{found['form']} {found['list']}".lower()


def test_a_live_project_has_nothing_to_wait_for(scene: Scene) -> None:
    found = scene.live().pages()
    assert "This project is in the directory" in found["page"]
    assert "Live" in found["list"]
    assert "review" not in found["form"].partition("Title")[0].replace("after a reviewer", "")


def test_where_no_time_is_set_no_date_is_promised(make_app: Any, mailbox: Mailbox) -> None:
    scene = Scene(make_app(CHANGES_DAYS="0", **mailbox.settings), mailbox)
    scene.pending().asked()
    [mail], found = scene.mails(), scene.pages()
    for text in (mail, *found.values()):
        assert "Give it back to the reviewers with an edit or an answer." in text
        assert "UTC" not in text.partition("Messages Submitted")[0]


def test_an_administrator_reads_until_when_it_waits_for_its_owner(scene: Scene) -> None:
    scene.pending().asked()
    page = text_of(Browser(scene.app).sign_in("root").get(f"/mine/{scene.id}"))
    assert f"It waits for its owner until {scene.until}." in page


def test_a_field_does_not_wait_for_review_while_it_waits_for_its_owner(scene: Scene) -> None:
    scene.revised()
    form = f"/mine/{scene.id}/edit"
    for said in (True, False):
        page = text_of(scene.browser.get(form))
        assert ("The live text" in page, "Waits for review" in page) == (True, said)
        scene.asked()


def test_the_name_of_who_asks_is_shown_where_the_operator_shows_names(make_app: Any, mailbox: Mailbox) -> None:
    scene = Scene(make_app(REVIEWER_NAMES="shown", **mailbox.settings), mailbox)
    scene.pending()
    message = {"message": ASKED}
    assert scene.eve.put(f"/api/review/projects/{scene.id}/request-changes", message).status_code == 200
    for text in scene.pages().values():
        assert f"{scene.judge.username} asks: {ASKED}" in text


def test_all_states_have_words() -> None:
    states = {*Turn, *Asked, *REJECTIONS, Outcome.APPROVED} - {Turn.OWNER}
    of_changes = states - {Asked.UNPUBLISHED, Outcome.APPROVED}
    assert {*turn_words.TABLE} == {(each, False) for each in states} | {(each, True) for each in of_changes}


def fields_of(scene: Scene, **changed: str) -> dict[str, str]:
    """What the form of an edit sends."""
    stored = scene.owner.get(f"/api/projects/{scene.id}").json
    values = {name: stored[name] for name in ("url", "title", "tagline", "version")}
    return {**values, "category": "tools", **changed}


@pytest.mark.parametrize("reach", [lambda it: it.pending().asked(), lambda it: it.revised().asked()])
def test_the_form_saves_what_stays_with_its_owner_and_gives_back_by_a_second_button(
    scene: Scene, reach: Callable[[Scene], Any]
) -> None:
    reach(scene)
    address = f"/mine/{scene.id}/edit"
    form = text_of(scene.browser.get(address))
    assert "Save Save and give back Back" in form
    sent = scene.browser.post(address, data=fields_of(scene, title="Half done"))
    assert sent.headers["Location"] == f"/mine/{scene.id}?done=saved"
    assert "The reviewers ask for changes" in scene.pages()["page"]
    # It is given back as it was saved, without another change.
    sent = scene.browser.post(address, data=fields_of(scene, title="Half done", give_back="true"))
    assert sent.headers["Location"] == f"/mine/{scene.id}?done=review"
    assert "waiting for review" in scene.pages()["page"]
    assert "Save and give back" not in scene.pages()["form"]


def test_the_form_asks_before_an_edit_ends_an_appeal(scene: Scene) -> None:
    scene.pending().decided("reject", reason=WHY).appealed()
    address = f"/mine/{scene.id}/edit"
    asked = scene.browser.post(address, data=fields_of(scene, title="Another title"))
    assert asked.status_code == 409
    assert "Nothing is saved yet. If you save, the appeal ends without an outcome" in text_of(asked)
    assert 'value="Another title"' in asked.text
    assert scene.owner.get(f"/api/projects/{scene.id}").json["review"]["waiting_for"] == "appeal"
    ended = scene.browser.post(address, data=fields_of(scene, title="Another title", end_appeal="true"))
    assert ended.headers["Location"] == f"/mine/{scene.id}?done=review"
    stored = scene.owner.get(f"/api/projects/{scene.id}").json
    assert (stored["title"], stored["review"]["waiting_for"]) == ("Another title", "review")


def test_an_open_appeal_is_linked_in_the_list(scene: Scene) -> None:
    scene.pending().decided("reject", reason=WHY).appealed()
    page = scene.browser.get("/mine")
    assert f'<a class="badge pending" href="/mine/{scene.id}#thread">Appeal</a>' in page.text
    assert "Edit and send again" not in text_of(page)
