"""What the service itself writes: stored in English, and said in the language of the reader."""

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from directory.language.messages import Message
from directory.models import now
from directory.runtime import housekeeping
from directory.services import service_words
from directory.services.delivery.schedule import DeliveryPolicy
from tests.support.browsers import Browser
from tests.support.factories import World
from tests.support.mailbox import Mailbox
from tests.support.outbox import delivery_thread, quick, send_all

# Each text that a release has stored, as it is stored, and in German.
STORED = {
    "The appeal has ended without an outcome, because the reviewers made another decision.":
        "Der Widerspruch endete ohne Ergebnis, weil das Prüfteam eine andere Entscheidung getroffen hat.",
    "The appeal has ended without an outcome, because the project was edited.":
        "Der Widerspruch endete ohne Ergebnis, weil das Projekt bearbeitet wurde.",
    "The appeal has ended without an outcome, because the changes were withdrawn.":
        "Der Widerspruch endete ohne Ergebnis, weil die Änderungen zurückgezogen wurden.",
    "A rule of this site had held this for a closer look, or rejected it. That was undone: it is in the review queue "
    "again, at its old place.":
        "Eine Regel dieser Website hatte dies für eine genauere Prüfung zurückgehalten oder abgelehnt. Das wurde "
        "rückgängig gemacht: Es ist wieder in der Warteschlange, an seinem alten Platz.",
    "No answer within 30 days.": "Keine Antwort innerhalb von 30 Tagen.",
    "No answer within 1 days.": "Keine Antwort innerhalb von 1 Tag.",
    "No answer within 1 day.": "Keine Antwort innerhalb von 1 Tag.",
}  # fmt: skip
TEXTS = {"SITE_LANGUAGES": "en,de"}


def test_every_text_that_was_ever_stored_is_known_and_others_are_as_they_are(make_app: Any) -> None:
    german = make_app(**TEXTS).extensions["languages"].catalogue("de")
    for stored, said in STORED.items():
        found = service_words.said(stored)
        assert isinstance(found, Message)
        assert german.say(found) == said
    for text in ("", "No answer within 30 days", "No answer within many days.", "It has no licence."):
        assert service_words.said(text) == text
        assert not isinstance(service_words.said(text), Message)


def test_threads_reasons_and_mail_are_in_the_language_of_the_reader(make_app: Any) -> None:
    with Mailbox() as mailbox:
        app = make_app(**TEXTS, **mailbox.settings)
        world = World(app)
        ada, admin = world.user("ada"), world.caller(world.admin())
        world.change(ada, email_verified_at=now(), language="de")
        owner, project, live = world.caller(ada), world.project(ada, "pending"), world.project(ada)
        world.revise(live, ada, title="Another title")
        for each in (project, live):
            admin.put(f"/api/review/projects/{each}/request-changes", {"message": "A licence?"})
        past = now() - timedelta(seconds=1)
        world.age(since=past - timedelta(days=30), until=past)
        housekeeping.tidy(app, DeliveryPolicy())
        send_all(delivery_thread(app, app.extensions["webhooks"][0], quick()))
        mails = [taken.text for taken in mailbox.taken]
    english, german = "No answer within 30 days.", "Keine Antwort innerhalb von 30 Tagen."
    assert [german in mail for mail in mails[-2:]] == [True, True]
    assert [english in mail for mail in mails] == [False] * len(mails)
    pages = Browser(app).sign_in("ada")
    for path in ("/mine", f"/mine/{project}", f"/mine/{live}"):
        for query, said, other in (("?lang=de", german, english), ("?lang=en", english, german)):
            page = pages.get(path + query).text
            assert (said in page, other in page) == (True, False), (path, query)
    world.appeal(project, ada)
    owner.put(f"/api/projects/{project}", {"title": "A third title"})
    ended = "The appeal has ended without an outcome, because the project was edited."
    for caller, path in (
        (owner, f"/api/projects/{project}/messages"),
        (admin, f"/api/review/projects/{project}/messages"),
    ):
        answer = caller.get(path, headers={"Accept-Language": "de"})
        texts = [item["text"] for item in answer.json["items"]]
        assert [text for text in texts if text in {german, STORED[ended]}] == [german, STORED[ended]]
        assert (answer.headers["Content-Language"], "Accept-Language" in answer.headers["Vary"]) == ("de", True)
        texts = [item["text"] for item in caller.get(path, headers={"Accept-Language": "en"}).json["items"]]
        assert [text for text in texts if text in {english, ended}] == [english, ended]


@pytest.mark.parametrize("sender", ["owner", "reviewers"])
def test_what_people_write_is_never_taken_for_a_text_of_the_service(make_app: Any, sender: str) -> None:
    world = World(make_app(**TEXTS))
    ada, judge = world.user("ada"), world.caller(world.reviewer())
    project, words = world.project(ada, "pending"), "No answer within 30 days."
    writer = world.caller(ada) if sender == "owner" else judge
    writer.post(f"/api/{'review/' if sender == 'reviewers' else ''}projects/{project}/messages", {"text": words})
    path = f"/api/projects/{project}/messages"
    assert [item["text"] for item in world.caller(ada).get(path, headers={"Accept-Language": "de"}).json["items"]] == [
        words
    ]


def test_with_one_language_an_answer_varies_by_none(app: Flask, world: World) -> None:
    ada = world.user()
    answer = world.caller(ada).get(f"/api/projects/{world.project(ada)}/messages")
    assert "Content-Language" not in answer.headers
    assert "Accept-Language" not in answer.headers["Vary"]
