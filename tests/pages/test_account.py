"""The page of an account without JavaScript: each form does what the API does, and its outcome is at its place."""

import re
from html import unescape

import pytest
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Session, Token, User, now
from directory.pages import account
from directory.services.accounts import sessions
from tests.pages.conftest import text_of
from tests.support import extras
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api, World

NEW = "another fine password"


@pytest.fixture
def ada(world):
    return world.user("ada")


@pytest.fixture
def browser(app, ada):
    return Browser(app).sign_in("ada")


def section(answer, name):
    """What a section of the page says, without its tags."""
    part = answer.text.partition(f'<section class="card" id="{name}">')[2].partition("</section>")[0]
    return " ".join(unescape(re.sub("<[^>]*>", " ", part)).split())


def sent(browser, form, **fields):
    """Send a form, and follow it to the page that says what was done."""
    answer = browser.post(f"/account/{form}", data=fields)
    assert answer.status_code == 303, text_of(answer)
    assert answer.headers["Cache-Control"] == "no-store"
    path, _, place = answer.headers["Location"].partition("#")
    page = browser.get(path)
    return section(page, place), page


def refused(browser, form, status, **fields):
    answer = browser.post(f"/account/{form}", data=fields)
    assert (answer.status_code, answer.mimetype) == (status, "text/html")
    assert answer.headers["Cache-Control"] == "no-store"
    return answer


def error_at(answer, field):
    found = re.search(f'id="{field}-about">(.*?)</p>', answer.text)
    return unescape(found[1]) if found else ""


def me(browser):
    return browser.get("/api/auth/me").json


def test_who_is_not_signed_in_is_led_to_the_page_that_signs_in_and_back(app, ada):
    browser = Browser(app)
    answer = browser.get("/account")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in?next=%2Faccount")
    answer = browser.post(answer.headers["Location"], data={"login": "ada", "password": PASSWORD})
    assert answer.headers["Location"] == "/account"
    page = browser.get("/account")
    assert (page.status_code, page.headers["Cache-Control"]) == (200, "no-store")
    assert 'content="noindex"' in page.text
    assert "ada@" in page.text


def test_every_section_is_there_and_no_form_lacks_the_account_that_it_shows(browser, ada):
    page = browser.get("/account")
    names = re.findall('<section class="card" id="([a-z]+)">', page.text)
    off = {section for section, extra in (("passkeys", "passkeys"), ("feed", "feed_keys")) if extra not in extras.ON}
    whole = ["profile", "password", "passkeys", "sessions", "tokens", "feed", "data", "leave"]
    assert names == [each for each in whole if each not in off]
    own = re.findall(r'<form[^>]*action="/account/.*?</form>', page.text, re.DOTALL)
    assert len(own) >= 4
    for form in own:
        assert f'<input type="hidden" name="expected_user" value="{ada.id}">' in form
    ids = re.findall(r'\sid="([^"]+)"', page.text)
    assert len(ids) == len({*ids})


def test_a_new_address_takes_the_password_and_what_was_typed_stays_in_its_field(app, world, browser):
    world.user("bob")
    wrong = refused(browser, "email", 422, email="new@example.org", current_password="wrong horse")
    assert error_at(wrong, "email-current_password") == "This is not your password."
    assert 'value="new@example.org"' in wrong.text
    assert "wrong horse" not in wrong.text
    blank = refused(browser, "email", 422, email="new@example.org", current_password="")
    assert error_at(blank, "email-current_password") == "Please fill this in."
    assert error_at(refused(browser, "email", 422, email=""), "email") == "Please fill this in."
    taken = refused(browser, "email", 409, email="bob@example.org", current_password=PASSWORD)
    assert "taken" in error_at(taken, "email")
    said, page = sent(browser, "email", email="New@Example.org", current_password=PASSWORD)
    assert "Your e-mail address is saved." in said
    assert me(browser)["email"] == "new@example.org"
    assert page.text.count('role="status"') == 1 + page.text.count('class="notice" role="status"')


def test_a_password_is_changed_with_the_present_one_and_other_sessions_end(app, browser):
    other = Browser(app).sign_in("ada")
    answer = refused(browser, "password", 422, current_password="", password="")
    assert error_at(answer, "new-password") == "Please fill this in."
    answer = refused(browser, "password", 422, current_password="", password=NEW)
    assert error_at(answer, "current_password") == "Please fill this in."
    answer = refused(browser, "password", 422, current_password="wrong horse", password=NEW)
    assert error_at(answer, "current_password") == "This is not your password."
    assert NEW not in answer.text
    assert other.signed_in()
    said, _ = sent(browser, "password", current_password=PASSWORD, password=NEW)
    assert "Your password is changed. Your other sessions are signed out." in said
    assert (browser.signed_in(), other.signed_in()) == (True, False)
    Browser(app).sign_in("ada", NEW)


def test_a_new_password_may_revoke_the_tokens(world, ada, browser):
    token = world.caller(ada)
    said, page = sent(browser, "password", current_password=PASSWORD, password=NEW, revoke_tokens="true")
    assert "and your tokens are revoked." in said
    assert "You have no tokens." in section(page, "tokens")
    assert token.get("/api/auth/me").status_code == 401


def test_a_username_is_chosen_once_where_a_provider_gave_it(app, world, ada, browser):
    world.user("taken")
    assert 'action="/account/username"' not in browser.get("/account").text
    refused(browser, "username", 422, username="lovelace")
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).where(User.id == ada.id).values(may_rename=True)))
    answer = refused(browser, "username", 409, username="taken")
    assert "taken" in error_at(answer, "username")
    assert re.search('<input id="username"[^>]*autofocus', answer.text)
    said, _ = sent(browser, "username", username="lovelace")
    assert "Your username is changed. Username: lovelace" in said


def test_sessions_are_ended_one_by_one_and_all_at_once(app, browser):
    others = [Browser(app).sign_in("ada") for _ in range(3)]
    page = browser.get("/account")
    assert "This browser" in section(page, "sessions")
    ends = re.findall("/account/(sessions/[0-9]+/end)", page.text)
    assert len(ends) == 3
    said, _ = sent(browser, ends[0])
    assert "The session is signed out." in said
    assert sum(each.signed_in() for each in others) == 2
    again = refused(browser, ends[0], 404)
    assert account.GONE in section(again, "sessions")
    said, page = sent(browser, "sessions/end")
    assert "All other sessions are signed out." in said
    assert "You are signed in nowhere else." in said
    assert not any(each.signed_in() for each in others)
    assert browser.signed_in()


def test_a_token_is_shown_once_on_the_answer_to_its_form_and_in_no_address(app, browser, ada):
    answer = browser.post("/account/tokens", data={"name": "laptop <b>", "days": "30"})
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert "Location" not in answer.headers
    [secret] = re.findall(r'<code class="secret" tabindex="0">(pds_[A-Za-z0-9_-]{43})</code>', answer.text)
    assert Api(app, secret).get("/api/auth/me").json["id"] == ada.id
    page = browser.get("/account")
    assert secret not in page.text
    assert "laptop &lt;b&gt;" in page.text
    with app.app_context():
        [token] = db.session.scalars(select(Token))
        assert 29 < (token.expires_at - now()).total_seconds() / 86_400 <= 30
    [revoke] = re.findall("/account/(tokens/[0-9]+/revoke)", page.text)
    said, _ = sent(browser, revoke)
    assert "The token is revoked." in said
    assert "You have no tokens." in said
    assert Api(app, secret).get("/api/auth/me").status_code == 401


def test_a_token_without_days_never_expires_and_a_wrong_form_makes_none(app, browser):
    assert error_at(refused(browser, "tokens", 422, name=" "), "name") != ""
    assert error_at(refused(browser, "tokens", 422, name="x", days="31"), "days") != ""
    assert "You have no tokens." in text_of(browser.get("/account"))
    answer = browser.post("/account/tokens", data={"name": "forever", "days": "never"})
    assert "never expires" in section(answer, "tokens")


def test_mail_is_switched_off_and_on_and_the_link_is_mailed_again(make_app, world, ada):
    mail = {"MAIL_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "directory@example.net", "SITE_URL": "https://example.net"}
    browser = Browser(make_app(**mail)).sign_in("ada")
    assert "is not confirmed yet." in section(browser.get("/account"), "mail")
    said, _ = sent(browser, "verification")
    assert "The link is on its way." in said
    for notify in ({}, {"notify": "true"}):
        said, page = sent(browser, "notices", **notify)
        assert "Saved." in said
        assert me(browser)["notify"] == bool(notify)
        assert bool(re.search('name="notify"[^>]*checked', page.text)) == bool(notify)
    said, _ = sent(browser, "email", email="new@example.org", current_password=PASSWORD)
    assert "A link is on its way to the new address." in said
    assert me(browser)["email"] != "new@example.org"


def test_the_account_is_deleted_by_the_password_and_a_ticked_box_alone(app, browser):
    answer = refused(browser, "delete", 422, current_password=PASSWORD)
    assert error_at(answer, "sure") == "Please confirm this."
    answer = refused(browser, "delete", 422, current_password="wrong horse", sure="true")
    assert error_at(answer, "leave-current_password") == "This is not your password."
    assert browser.signed_in()
    answer = browser.post("/account/delete", data={"current_password": PASSWORD, "sure": "true"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/account/deleted")
    assert browser.cookie is None
    assert "Your account is deleted" in text_of(browser.get("/account/deleted"))
    assert browser.get("/account").status_code == 303


def test_another_account_in_this_browser_is_409_and_does_nothing(app, world, browser, ada):
    bob = world.user("bob")
    browser.sign_in("bob")
    forms = {
        "email": {"email": "new@example.org", "current_password": PASSWORD}, "tokens": {"name": "laptop"},
        "password": {"current_password": PASSWORD, "password": NEW}, "sessions/end": {},
        "delete": {"current_password": PASSWORD, "sure": "true"},
    }  # fmt: skip
    for form, fields in forms.items():
        answer = refused(browser, form, 409, **fields, expected_user=str(ada.id))
        assert "Another account is signed in Nothing was changed" in text_of(answer)
        assert PASSWORD not in answer.text
    assert me(browser)["id"] == bob.id
    assert me(browser)["email"] != "new@example.org"
    assert browser.get("/api/auth/tokens").json["items"] == []
    Browser(app).sign_in("bob")
    sent(browser, "email", email="new@example.org", current_password=PASSWORD, expected_user=str(bob.id))


def test_after_an_ended_session_what_was_typed_is_there_again_but_no_password(app, browser, ada):
    Browser(app).sign_in("ada").post("/account/sessions/end")
    assert not browser.signed_in()
    fields = {"email": "new@example.org", "current_password": "my old horse", "expected_user": str(ada.id)}
    answer = refused(browser, "email", 401, **fields)
    assert "my old horse" not in answer.text
    kept = unescape(re.search('name="kept" value="([^"]*)"', answer.text)[1])
    assert "new@example.org" in kept
    action = unescape(re.search('action="(/sign-in[^"]*)"', answer.text)[1])
    signed = browser.post(action, data={"login": "ada", "password": PASSWORD, "kept": kept})
    assert (signed.status_code, signed.headers["Cache-Control"]) == (200, "no-store")
    assert 'value="new@example.org"' in signed.text
    assert browser.signed_in()
    assert me(browser)["email"] != "new@example.org"


def test_who_needs_a_fresh_session_is_led_to_sign_in_again_and_back(app, browser):
    def give(**values):
        with app.app_context():
            transaction(lambda: db.session.execute(update(User).values(**values)))

    with app.app_context():
        known = db.session.scalar(select(User.password_hash))
        transaction(lambda: db.session.execute(update(Session).values(created_at=now() - sessions.FRESH)))
    give(password_hash="")
    answer = refused(browser, "password", 403, password=NEW)
    [link] = re.findall('<a href="(/sign-in[^"]*)">Sign in again</a>', answer.text)
    form = browser.get(unescape(link))
    assert (form.status_code, "last ten minutes" in text_of(form)) == (200, True)
    action = unescape(re.search('action="(/sign-in[^"]*)"', form.text)[1])
    give(password_hash=known)
    signed = browser.post(action, data={"login": "ada", "password": PASSWORD})
    assert (signed.status_code, signed.headers["Location"]) == (303, "/account")
    give(password_hash="")
    assert sent(browser, "password", password=NEW)[0].startswith("Password Your password is changed.")


@pytest.mark.parametrize("path", ["/account/email", "/account/sessions/end", "/account/tokens/7/revoke"])
def test_the_address_of_a_form_leads_to_the_page(api, path):
    answer = api.get(path)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/account")
    for wrong in (f"{path}/x", "/account/nothing", "/account/tokens/7/nothing"):
        assert api.get(wrong).status_code == 404


def test_no_other_site_sends_these_forms(browser):
    for form in ("email", "tokens", "delete", "sessions/end"):
        answer = browser.post(f"/account/{form}", data={"name": "x"}, headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 403
    assert browser.get("/api/auth/tokens").json["items"] == []


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36", "Chrome · Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/120.0 Safari/537.36 Edg/120.0", "Edge · Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) FxiOS/120.0 Mobile Safari/605", "Firefox · iOS"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/17.0 Safari/605", "Safari · macOS"),
        ("curl/8.1", "curl"), ("my-program/2 (x)", "my-program"), ("", ""),
    ],
)  # fmt: skip
def test_a_session_is_named_by_its_program_and_system(header, said):
    assert account.agent(header) == said


def test_the_page_says_what_was_stored_today_and_how_much_may_be(make_app):
    for bound, most in (("2000000", " of at most 2,000 KB"), ("0", "")):
        app = make_app(MEMBER_BYTES_PER_DAY=bound)
        world, name = World(app), f"ada{bound}"
        ada = world.user(name)
        edit = {"description": "b" * 9_000}
        assert world.caller(ada).put(f"/api/projects/{world.project(ada, 'pending')}", edit).status_code == 200
        said = section(Browser(app).sign_in(name).get("/account"), "profile")
        assert f"Stored today: 9 KB{most}." in said
