"""The form that reports a project, on the project's page and on its own, and the list of a member's reports."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.reports import reports
from directory.models import Report
from tests.pages.conftest import text_of
from tests.support.browsers import Browser
from tests.support.factories import Api, World

FORM = {"kind": "spam", "text": "Advertising."}


def count(app: Flask) -> int:
    with app.app_context():
        return db.session.scalar(select(func.count()).select_from(Report)) or 0


def page_of(world: World, project: int) -> str:
    return f"/p/{project}/{world.stored(project)['slug']}"


def test_the_page_has_the_form_for_those_who_may_report_and_nothing_while_reports_are_off(
    make_app: Any, world: World
) -> None:
    owner, project = world.user("owner"), world.project(title="Lanternfish")
    own, waiting = world.project(owner), world.project(owner, "pending")
    world.user("ada")
    before = Api(world.app).get(page_of(world, project)).data
    for who, anonymous, member in (("off", 0, 0), ("members", 0, 1), ("everybody", 1, 1)):
        app = make_app(REPORTS=who)
        browser = Browser(app).sign_in("ada")
        shown = Api(app).get(page_of(world, project))
        form = f'action="/report/{project}"'
        assert [page.text.count(form) for page in (shown, browser.get(page_of(world, project)))] == [anonymous, member]
        assert (f'href="/sign-in?next=%2Freport%2F{project}"' in shown.text) is (who == "members")
        assert shown.headers["Cache-Control"] == "public, no-cache"
        assert (shown.data == before) is (who == "off")
        owned = Browser(app).sign_in("owner")
        assert [f'action="/report/{each}"' in owned.get(page_of(world, each)).text for each in (own, waiting)] == [
            False
        ] * 2


def test_everybody_reports_by_the_form_without_javascript(make_app: Any, world: World) -> None:
    app, project = make_app(REPORTS="everybody"), world.project(title="Lanternfish")
    browser = Browser(app)
    refused = browser.post(f"/report/{project}", data={"kind": "", "text": "So & so."})
    assert (refused.status_code, count(app)) == (422, 0)
    assert "Please fill this in." in text_of(refused)
    assert "So &amp; so.</textarea>" in refused.text
    sent = browser.post(f"/report/{project}", data=FORM)
    assert (sent.status_code, sent.headers["Location"]) == (303, f"/report/{project}?sent=1")
    thanks = browser.get(sent.headers["Location"])
    assert "Thank you The reviewers will look at your report. Back to Lanternfish" in text_of(thanks)
    assert "Your reports" not in text_of(thanks)
    assert count(app) == 1
    assert 'content="noindex' in thanks.text
    assert "What is wrong?" in text_of(browser.get(f"/report/{project}"))


def test_another_sites_page_reports_nothing(make_app: Any, world: World) -> None:
    app, project = make_app(REPORTS="everybody"), world.project()
    answer = Api(app).post(f"/report/{project}", data=FORM, headers={"Sec-Fetch-Site": "cross-site"})
    assert (answer.status_code, count(app)) == (403, 0)


@pytest.mark.parametrize("who", ["off", "everybody"])
def test_there_is_no_form_for_a_project_that_cannot_be_reported(make_app: Any, world: World, who: str) -> None:
    app = make_app(REPORTS=who)
    owner = world.user("owner")
    projects = [world.project(owner, "pending"), 10**9] if who == "everybody" else [world.project()]
    browser = Browser(app).sign_in("owner")
    for project in projects:
        assert browser.get(f"/report/{project}").status_code == 404
        assert browser.post(f"/report/{project}", data=FORM).status_code == 404


def test_a_member_whose_session_has_ended_signs_in_and_has_the_text_again(make_app: Any, world: World) -> None:
    app, project = make_app(REPORTS="members"), world.project()
    world.user("ada")
    browser = Browser(app)
    asked = browser.get(f"/report/{project}")
    assert (asked.status_code, asked.headers["Location"]) == (303, f"/sign-in?next=%2Freport%2F{project}")
    ended = browser.post(f"/report/{project}", data=FORM)
    assert ended.status_code == 401
    assert "Advertising." in ended.text
    kept = {"login": "ada", "password": "correct horse battery", "kept": '{"kind": "spam", "text": "Advertising."}'}
    again = browser.post(f"/sign-in?next=/report/{project}", data=kept)
    assert (again.status_code, count(app)) == (200, 0)
    assert "Advertising.</textarea>" in again.text
    assert '<option value="spam" selected>' in again.text


def test_a_member_sees_what_became_of_a_report_and_never_who_decided(make_app: Any, world: World) -> None:
    app, project = make_app(REPORTS="members"), world.project(title="Lanternfish")
    ada, reviewer = world.user("ada"), world.admin("the-reviewer")
    world.user("bob")
    browser = Browser(app).sign_in("ada")
    assert "You have not reported anything" in text_of(browser.get("/mine?reports=1"))
    browser.post(f"/report/{project}", data={**FORM, "expected_user": ada.id})
    assert "Lanternfish Open It is advertising or spam" in text_of(browser.get("/mine?reports=1"))
    with app.app_context():
        transaction(lambda: reports.settle(project, "unfounded", "We <looked>.", by=reviewer, notify=[]))
    page = browser.get("/mine?reports=1")
    assert "Lanternfish No reason to act It is advertising or spam" in text_of(page)
    assert "Advertising. Reply: We <looked>." in text_of(page)
    assert page_of(world, project) in page.text
    assert "the-reviewer" not in page.text
    world.caller(reviewer).delete(f"/api/projects/{project}")
    assert "Lanternfish No reason to act" in text_of(browser.get("/mine?reports=1"))
    assert "Lanternfish" not in text_of(Browser(app).sign_in("bob").get("/mine?reports=1"))


def test_the_list_of_reports_has_pages(make_app: Any, world: World) -> None:
    app, ada = make_app(REPORTS="members"), world.user("ada")
    with app.app_context():
        rows = [
            {"project_id": n, "project_title": f"Gone {n}", "reporter_id": ada.id, "kind": "spam", "text": ""}
            for n in range(1, 22)
        ]
        settled = {"outcome": "acted", "settled_at": db.func.now()}
        transaction(lambda: db.session.add_all(Report(**row, **settled) for row in rows))
    browser = Browser(app).sign_in("ada")
    assert ["Gone 21 " in text_of(browser.get(f"/mine?reports=1&page={n}")) for n in (1, 2)] == [True, False]
    assert "Gone 1 " in text_of(browser.get("/mine?reports=1&page=2"))
    assert [browser.get(f"/mine?reports=1&page={n}").status_code for n in (3, 501)] == [404, 404]


def test_while_reports_are_off_a_members_page_has_no_list_of_them(world: World) -> None:
    world.user("ada")
    browser = Browser(world.app).sign_in("ada")
    assert "Reports" not in browser.get("/mine").text
    assert "Your projects" in text_of(browser.get("/mine?reports=1"))


def test_the_help_says_where_to_report_while_somebody_may(make_app: Any) -> None:
    for who, says in (("off", False), ("members", True)):
        page = text_of(Api(make_app(REPORTS=who)).get("/help"))
        assert ("press “Report this project” on its page" in page) is says
