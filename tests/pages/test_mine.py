"""A member's own projects without JavaScript: by state, one with its timeline, and those that the member voted for."""

import re
from html import unescape
from urllib.parse import quote

import pytest
from sqlalchemy import func, select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Delivery, User, now
from tests.pages.conftest import text_of, titles
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, World

MAIL = {"MAIL_URL": "smtp://127.0.0.1:1", "MAIL_FROM": "directory@example.org"}


@pytest.fixture
def ada(world):
    return world.user("ada")


@pytest.fixture
def browser(app, ada):
    return Browser(app).sign_in("ada")


def own(answer):
    """The titles of the rows."""
    return [unescape(title) for title in re.findall(r'<h2 dir="auto"><a href="/mine/[0-9]+">([^<]*)</a>', answer.text)]


def test_projects_are_listed_by_state_with_their_place_and_reasons(world, ada, browser):
    world.project(ada, "rejected", title="Red lamp")
    world.project(world.user(), "pending")
    world.project(ada, "pending", title="Grey lamp")
    live = world.project(ada, title="Green <lamp>", votes=2)
    world.project(title="Another's lamp")
    page = browser.get("/mine")
    assert (page.status_code, page.headers["Cache-Control"]) == (200, "no-store")
    assert own(page) == ["Green <lamp>", "Grey lamp", "Red lamp"]
    said = text_of(page)
    for text in ("Undecided 1", "Live 1", "Rejected 1", "Number 2 in the queue", "Reason: Not yet.", "2 votes"):
        assert text in said
    for status, shown in (("pending", "Grey lamp"), ("live", "Green <lamp>"), ("rejected", "Red lamp")):
        assert own(browser.get(f"/mine?status={status}")) == [shown]
    assert own(browser.get("/mine?status=nothing")) == own(page)
    world.revise(live, ada, title="Greener lamp")
    assert "Changes wait for review, number 3 in the queue" in text_of(browser.get("/mine?status=live"))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "You have not submitted anything yet"), ("?status=live", "None of your projects is live"),
        ("?status=pending", "Nothing is in review"), ("?status=rejected", "Nothing was rejected"),
        ("?upvoted=1", "You have not voted yet"),
    ],
)  # fmt: skip
def test_an_empty_list_says_so(browser, query, said):
    assert said in text_of(browser.get(f"/mine{query}"))


def test_what_one_voted_for_is_listed_and_a_vote_is_withdrawn_there(world, ada, browser):
    liked, gone = world.project(title="Loved"), world.project(title="Gone", votes=1)
    world.project(ada, title="Own")
    for each in (liked, gone):
        world.vote(each, ada)
    page = browser.get("/mine?upvoted=1&status=pending")
    assert sorted(titles(page)) == ["Gone", "Loved"]
    action = unescape(re.search(f'action="(/votes/{liked}[^"]*)"', page.text)[1])
    answer = browser.post(action, data={"vote": "withdraw"})
    assert answer.headers["Location"] == f"/mine?upvoted=1#p-{liked}"
    assert titles(browser.get("/mine?upvoted=1")) == ["Gone"]


def test_while_mail_is_held_back_the_list_says_so_and_mails_the_link_that_ends_it(make_app, world, ada):
    app = make_app(**MAIL)
    browser, reviewer = Browser(app).sign_in("ada"), World(app).caller(World(app).admin())
    for number in range(4):
        assert ("Mail to you is held back" in text_of(browser.get("/mine"))) == (number == 3)
        reviewer.put(f"/api/admin/projects/{world.project(ada, 'pending')}/approve")
    page = browser.get("/mine")
    assert 'action="/verify/again?next=%2Fmine"' in page.text
    answer = browser.post("/verify/again?next=/mine")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/verify?sent=1&next=%2Fmine")
    with app.app_context():
        mailed = select(func.count()).where(Delivery.event == "account.email_verification")
        assert db.session.scalar(mailed) == 1
        transaction(lambda: db.session.execute(update(User).values(email_verified_at=now())))
    assert "Mail to you is held back" not in text_of(browser.get("/mine"))


def test_a_long_list_has_pages(world, ada, browser):
    for number in range(41):
        world.project(ada, title=f"Lamp {number}")
    assert own(browser.get("/mine"))[0] == "Lamp 40"
    page = browser.get("/mine?status=live&page=2")
    assert len(own(page)) == 20
    assert '<a class="button" rel="prev" href="/mine?status=live">' in page.text
    assert '<a class="button" rel="next" href="/mine?status=live&amp;page=3">' in page.text
    assert own(browser.get("/mine?page=3")) == ["Lamp 0"]
    for wrong in ("4", "0", "x", "501"):
        assert browser.get(f"/mine?page={wrong}").status_code == 404


def test_one_project_shows_its_state_and_its_timeline(world, ada, browser):
    rejected = world.project(ada, "rejected", title="Red lamp")
    said = text_of(browser.get(f"/mine/{rejected}"))
    for text in ("This project was rejected", "Reason: Not yet.", "Messages Submitted", "Rejected"):
        assert text in said
    live = world.project(ada, title="Lamp", votes=2)
    said = text_of(browser.get(f"/mine/{live}"))
    assert "This project is in the directory" in said
    assert "It has 2 votes." in said
    assert "Approved" in said


def test_who_may_not_see_it_gets_no_page_of_it(app, world, ada):
    waiting, live = world.project(ada, "pending"), world.project(ada)
    world.user("bob")
    bob = Browser(app).sign_in("bob")
    assert [bob.get(f"/mine/{each}").status_code for each in (waiting, live, 10**9)] == [404, 403, 404]
    world.admin("root")
    assert Browser(app).sign_in("root").get(f"/mine/{waiting}").status_code == 200


@pytest.mark.parametrize("path", ["/mine", "/mine?upvoted=1", "/mine/7"])
def test_who_is_not_signed_in_is_led_to_the_page_that_signs_in_and_back(app, ada, path):
    browser = Browser(app)
    answer = browser.get(path)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/sign-in?next={quote(path, safe='')}")
    answer = browser.post(answer.headers["Location"], data={"login": "ada", "password": PASSWORD})
    assert answer.headers["Location"] == path


def test_deleting_asks_once_and_leads_to_the_other_projects(world, ada, browser):
    project = world.project(ada, title="Lamp")
    page = browser.get(f"/mine/{project}")
    form = re.search(rf'<details class="sure">.*?action="/delete/{project}".*?</details>', page.text, re.DOTALL)[0]
    assert "This cannot be undone." in form
    answer = browser.post(f"/delete/{project}", data={"expected_user": str(ada.id)})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/mine?done=deleted")
    assert "The project is deleted." in text_of(browser.get("/mine?done=deleted"))
    assert browser.get(f"/mine/{project}").status_code == 404


def test_votes_are_named_before_a_deletion_where_there_are_some(world, ada, browser):
    for votes in (0, 2):
        project = world.project(ada, votes=votes)
        for path in (f"/mine/{project}", f"/p/{project}/{world.stored(project)['slug']}"):
            said = text_of(browser.get(path))
            assert "This cannot be undone." in said
            assert ("Its votes are deleted too." in said) == (votes > 0)


def test_withdrawing_asks_once_and_gives_the_text_back(world, ada, browser):
    project = world.project(ada, title="Lamp")
    world.revise(project, ada, title="Brighter lamp")
    for page in (f"/mine/{project}", f"/p/{project}/lamp"):
        form = re.search(r'<details class="sure">.*?</details>', browser.get(page).text, re.DOTALL)[0]
        assert f'action="/mine/{project}/withdraw"' in form
    version = re.search('name="version" value="([0-9]+)"', form)[1]
    data = {"version": version, "expected_user": str(ada.id)}
    answer = browser.post(f"/mine/{project}/withdraw", data=data)
    assert answer.status_code == 200
    assert "Your changes are withdrawn." in text_of(answer)
    assert 'name="title" value="Brighter lamp"' in answer.text
    assert "Changes withdrawn" in text_of(browser.get(f"/mine/{project}"))


def test_the_note_of_a_rejection_is_dismissed_and_one_stays_on_the_page(world, ada, browser):
    project = world.project(ada, title="Lamp")
    world.revise(project, ada, title="Brighter lamp")
    world.caller(world.admin()).put(f"/api/admin/projects/{project}/reject", {"reason": "Too bright."})
    page = browser.get(f"/mine/{project}")
    action = unescape(re.search(f'action="(/withdraw/{project}[^"]*)"', page.text)[1])
    answer = browser.post(action, data={"expected_user": str(ada.id)})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/mine/{project}")
    assert browser.get(f"/api/projects/{project}").json["revision"] is None


def test_each_link_to_edit_leads_to_the_form(world, ada, browser):
    project = world.project(ada, title="Lamp", status="pending")
    for page in ("/mine", f"/mine/{project}", f"/p/{project}/lamp"):
        assert f'href="/mine/{project}/edit"' in browser.get(page).text


def test_another_account_in_this_browser_deletes_and_withdraws_nothing(app, world, ada, browser):
    project = world.project(ada, title="Lamp")
    world.revise(project, ada, title="Brighter lamp")
    world.admin("root")
    browser.sign_in("root")  # who may do both
    for form in (f"/delete/{project}", f"/withdraw/{project}", f"/mine/{project}/withdraw"):
        answer = browser.post(form, data={"expected_user": str(ada.id)})
        assert answer.status_code == 409
        assert "Another account is signed in Nothing was changed" in text_of(answer)
    assert browser.get(f"/api/projects/{project}").json["revision"]["changes"]["title"] == "Brighter lamp"


def test_after_an_ended_session_a_button_leads_back_to_its_page(app, world, ada, browser):
    project = world.project(ada, title="Lamp")
    Browser(app).sign_in("ada").post("/account/sessions/end")
    answer = browser.post(f"/withdraw/{project}?next=/mine/{project}", data={"expected_user": str(ada.id)})
    assert answer.status_code == 401
    action = unescape(re.search('action="(/sign-in[^"]*)"', answer.text)[1])
    signed = browser.post(action, data={"login": "ada", "password": PASSWORD})
    assert signed.headers["Location"] == f"/mine/{project}"
