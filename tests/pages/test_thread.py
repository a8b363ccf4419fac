"""The page of a member's own project: the thread with the reviewers, the form of an answer, and what is unread."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from directory.db.transactions import transaction, writing
from directory.errors import Unavailable
from directory.extensions import db
from directory.models import Message, MessageKind, Sender, now
from directory.pages import mine
from directory.services.identity import Caller
from directory.services.review import moderation, thread
from tests.conftest import Statements
from tests.pages.conftest import text_of
from tests.support.browsers import Browser
from tests.support.factories import World

MARK = 'class="unread"'


def say(world: World, project: int, owner: Caller, *texts: str) -> None:
    """Have a reviewer write to the owner."""
    reviewer, row = world.admin(), SimpleNamespace(id=project, owner_id=owner.id)
    with world.app.app_context(), writing():
        for text in texts:
            thread.record_each(MessageKind.MESSAGE, [row], text, by=reviewer, at=now())


def unread(app: Flask, owner: Caller) -> int:
    with app.app_context():
        return thread.unread(owner.id)


@pytest.fixture
def ada(world: World) -> Caller:
    return world.user("ada")


@pytest.fixture
def browser(app: Flask, ada: Caller) -> Browser:
    return Browser(app).sign_in("ada")


def test_the_owner_reads_the_thread_and_no_name_of_a_reviewer(world: World, ada: Caller, browser: Browser) -> None:
    project = world.project(ada, "rejected")
    say(world, project, ada, "Which <licence>?\nAnd where?")
    page = browser.get(f"/mine/{project}")
    at = r"\d+ \w+ \d+, \d\d:\d\d UTC"
    assert re.search(f"Messages Submitted {at} Not accepted {at} Not yet. Reviewers {at}", text_of(page))
    assert text_of(page).count("accepted") == 1  # what an entry tells of stands once
    assert "Which &lt;licence&gt;?\nAnd where?</p>" in page.text
    with world.app.app_context():
        [author] = {*db.session.scalars(select(Message.author_id).where(Message.author_id.is_not(None)))}
        assert f"user{author}" not in page.text


@pytest.mark.parametrize("status", ["pending", "live"])
def test_who_is_asked_for_changes_reads_so_and_not_that_a_project_was_taken_down(
    world: World, ada: Caller, browser: Browser, status: str
) -> None:
    project = world.project(ada, status)
    if status == "live":
        world.revise(project, ada, title="Other")
    asked = world.caller(world.admin()).put(f"/api/admin/projects/{project}/request-changes", {"message": "Which?"})
    assert asked.status_code == 200
    text = text_of(browser.get(f"/mine/{project}"))
    assert "Changes asked for The reviewers ask for changes" in text
    assert "aken down" not in text
    assert "waiting for review" not in text


def test_an_administrator_sees_no_thread_of_another(world: World, ada: Caller) -> None:
    project = world.project(ada)
    say(world, project, ada, "Hello.")
    world.admin("root")
    page = Browser(world.app).sign_in("root").get(f"/mine/{project}")
    assert (page.status_code, "Hello." in page.text, 'id="thread"' in page.text) == (200, False, False)
    assert unread(world.app, ada) == 2


def test_the_owner_answers_without_javascript(world: World, ada: Caller, browser: Browser) -> None:
    project = world.project(ada)
    empty = browser.post(f"/mine/{project}", data={"text": "", "expected_user": ada.id})
    assert (empty.status_code, "Please fill this in." in text_of(empty)) == (422, True)
    long = browser.post(f"/mine/{project}", data={"text": "x" * 4001})
    assert (long.status_code, "x" * 4001 in long.text) == (422, True)
    sent = browser.post(f"/mine/{project}", data={"text": "It is MIT.", "expected_user": ada.id})
    assert (sent.status_code, sent.headers["Location"]) == (303, f"/mine/{project}?done=answered#thread")
    page = browser.get(sent.headers["Location"])
    assert "Your message is sent." in text_of(page)
    assert "It is MIT. Write to the reviewers" in text_of(page)
    assert 'name="resubmit"' not in page.text
    refused = browser.post(f"/mine/{project}", data={"text": "Again.", "resubmit": "true"})
    assert (refused.status_code, "Again.</textarea>" in refused.text) == (409, True)


def test_the_owner_gives_a_project_back_that_was_taken_down(world: World, ada: Caller, browser: Browser) -> None:
    project = world.project(ada)
    with world.app.app_context():
        terms = moderation.Terms("Broken.")
        transaction(lambda: moderation.decide(project, "unpublish", by=None, notify=[], terms=terms))
    page = browser.get(f"/mine/{project}")
    assert "Ready: review it again" in text_of(page)
    assert f'href="/mine/{project}#thread"' in browser.get(f"/p/{project}/{world.stored(project)['slug']}").text
    sent = browser.post(f"/mine/{project}", data={"text": "It works again.", "resubmit": "true"})
    assert sent.headers["Location"] == f"/mine/{project}?done=resubmitted#thread"
    page = browser.get(sent.headers["Location"])
    assert "It is number 1 in the queue." in text_of(page)
    assert "Ready: review it again" not in text_of(page)


@pytest.mark.parametrize("user", [None, "bob"])
def test_nobody_else_writes_there(world: World, ada: Caller, user: str | None) -> None:
    project = world.project(ada)
    world.user("bob")
    browser = Browser(world.app).sign_in(user) if user else Browser(world.app)
    answer = browser.post(f"/mine/{project}", data={"text": "Let me in."})
    assert answer.status_code == (404 if user else 401)
    assert "Let me in." in answer.text  # for copying, and after signing in
    with world.app.app_context():
        written = select(func.count()).where(Message.sender == Sender.OWNER)
        assert db.session.scalar(written) == 0


def test_what_is_unread_marks_the_name_on_each_page_until_the_thread_is_read(
    world: World, ada: Caller, browser: Browser
) -> None:
    first, second = world.project(ada, title="First"), world.project(ada, title="Second")
    for project in (first, second):
        browser.get(f"/mine/{project}")
    before = {path: browser.get(path) for path in ("/", "/account", "/mine", "/categories")}
    assert [path for path, page in before.items() if MARK in page.text] == []
    say(world, first, ada, "Hello.")
    say(world, second, ada, "Hello.")
    for path, page in before.items():
        marked = browser.get(path)
        assert MARK in marked.text
        assert "ETag" not in page.headers or marked.headers["ETag"] != page.headers["ETag"]
    assert text_of(browser.get("/mine")).count("New messages") == 2
    assert MARK in browser.get(f"/mine/{first}").text  # of the other one
    assert text_of(browser.get("/mine")).count("New messages") == 1
    assert MARK not in browser.get(f"/mine/{second}").text
    assert MARK not in browser.get("/").text
    assert MARK not in Browser(world.app).get("/").text


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("HEAD", "/mine/{}", {}),
        ("GET", "/mine/{}", {"Sec-Purpose": "prefetch;prerender"}),
        ("GET", "/mine/{}", {"Purpose": "prefetch"}),
        ("GET", "/mine/{}", {"X-Moz": "prefetch"}),
        ("GET", "/mine/{}?before=1", {}),
        ("GET", "/mine", {}),
        ("GET", "/mine/{}/edit", {}),
    ],
)
def test_what_shows_the_thread_to_nobody_does_not_mark_it_as_read(
    world: World, ada: Caller, browser: Browser, method: str, path: str, headers: dict[str, str]
) -> None:
    project = world.project(ada)
    assert browser.call(method, path.format(project), headers=headers).status_code == 200
    assert unread(world.app, ada) == 1
    browser.get(f"/mine/{project}")
    assert unread(world.app, ada) == 0


def test_a_read_only_service_shows_the_thread_and_writes_nothing(make_app: Any, world: World, ada: Caller) -> None:
    project = world.project(ada)
    browser = Browser(world.app).sign_in("ada")
    say(world, project, ada, "Hello.")
    reading = browser.copy(make_app(READ_ONLY="true"))
    assert "Hello." in reading.get(f"/mine/{project}").text
    assert unread(world.app, ada) == 2


def test_a_thread_that_cannot_be_marked_is_shown(
    world: World, ada: Caller, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: Any, **__: Any) -> None:
        raise Unavailable

    project = world.project(ada)
    monkeypatch.setattr(mine.thread, "mark_all_read", busy)
    page = browser.get(f"/mine/{project}")
    assert (page.status_code, MARK in page.text) == (200, True)


def test_a_long_thread_has_pages(world: World, ada: Caller, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mine, "ENTRIES_MAX", 2)
    project = world.project(ada, "pending")
    say(world, project, ada, "One.", "Two.", "Three.")
    page = browser.get(f"/mine/{project}")
    assert ["One." in page.text, "Two." in page.text, "Three." in page.text] == [False, True, True]
    [link] = [part.partition('"')[0] for part in page.text.split('href="')[1:] if "?before=" in part.partition('"')[0]]
    page = browser.get(link.partition("#")[0])
    assert ["One." in page.text, "Two." in page.text] == [True, False]
    assert "Earlier messages" not in page.text
    assert browser.get(f"/mine/{project}?before=x").status_code == 200


def test_the_mark_costs_a_members_page_no_statement(
    world: World, ada: Caller, browser: Browser, statements: Statements
) -> None:
    project = world.project(ada)
    browser.get(f"/mine/{project}")
    costs = []
    for text in ("", "Hello."):
        if text:
            say(world, project, ada, text)
        browser.get("/")
        statements.clear()
        assert (MARK in browser.get("/").text) is bool(text)
        costs.append(len(statements))
    assert costs[0] == costs[1]
