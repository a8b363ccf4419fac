"""Forms without JavaScript: what is accepted goes on by 303, a refusal shows the form again."""

import re
from html import unescape
from urllib.parse import quote, unquote

import pytest
from sqlalchemy import func, select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Delivery, User, now
from directory.pages.layout import own_path
from tests.pages.conftest import text_of
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api
from tests.support.routes import forms

SAME = {"Sec-Fetch-Site": "same-origin"}


def shown(answer, name):
    """The value of a field of the form that is shown, and what is said of it."""
    [field] = re.findall(f'<input id="{name}"[^>]*>', answer.text)
    error = re.search(f'<p class="error" id="{name}-about">(.*?)</p>', answer.text)
    return unescape(re.search('value="(.*?)"', field)[1]), error and unescape(error[1])


def test_one_signs_in_votes_withdraws_the_vote_and_signs_out(app, world):
    world.user("ada")
    project = world.project(title="Lamp", tags=["blue"])
    browser = Browser(app)
    answer = browser.post("/sign-in?next=/tags/blue", data={"login": "ada", "password": PASSWORD})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/tags/blue")
    assert answer.headers["Cache-Control"] == "no-store"
    for vote, votes in (("cast", 1), ("cast", 1), ("withdraw", 0), ("withdraw", 0)):
        answer = browser.post(f"/votes/{project}?next=/tags/blue", data={"vote": vote})
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/tags/blue#p-{project}")
        assert world.stored(project)["upvotes"] == votes
    assert ">ada</span>" in browser.get("/").text
    answer = browser.post("/sign-out")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    assert not browser.signed_in()
    assert browser.post("/sign-out").status_code == 303


def test_one_signs_up_and_what_is_wrong_is_said_at_its_field(app, world):
    world.user("ada")
    browser = Browser(app)
    typed = {"username": "ada", "email": "not an address", "password": "short"}
    answer = browser.post("/sign-up?next=/submit", data=typed)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (422, "no-store")
    assert shown(answer, "username") == ("ada", None)
    assert shown(answer, "email")[0] == "not an address"
    assert "address" in shown(answer, "email")[1]
    assert shown(answer, "password")[0] == ""
    assert shown(answer, "password")[1] is not None
    assert re.search('<input id="email"[^>]*aria-invalid="true"[^>]*autofocus', answer.text)
    answer = browser.post("/sign-up?next=/submit", data={**typed, "email": "a@b.org", "password": PASSWORD})
    assert answer.status_code == 409
    assert shown(answer, "username") == ("ada", shown(answer, "username")[1])
    assert "taken" in shown(answer, "username")[1]
    answer = browser.post("/sign-up?next=/submit", data={"username": "bob", "email": "a@b.org", "password": PASSWORD})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/submit")
    assert browser.signed_in()


def test_a_wrong_password_is_401_with_the_form_and_blank_fields_are_said(app, world):
    world.user("ada")
    answer = Browser(app).post("/sign-in", data={"login": "<ada>", "password": "wrong horse"})
    assert (answer.status_code, shown(answer, "login")) == (401, ("<ada>", None))
    assert "The login or the password is wrong." in text_of(answer)
    assert "wrong horse" not in answer.text
    answer = Browser(app).post("/sign-in", data={"login": "", "password": ""})
    assert answer.status_code == 422
    assert [shown(answer, name)[1] for name in ("login", "password")] == ["Please fill this in."] * 2


def test_over_the_limit_a_form_is_429_and_says_once_what_was_not_done_and_when_to_try_again(make_app, world):
    app = make_app(RATELIMIT_ENABLED="true", RATELIMIT_AUTH="2 per hour", RATELIMIT_VOTING="1 per hour")
    world.user("ada")
    project = world.project()
    browser = Browser(app).sign_in("ada")
    votes = [browser.post(f"/votes/{project}", data={"vote": "cast"}) for _ in range(2)]
    assert [vote.status_code for vote in votes] == [303, 429]
    assert int(votes[1].headers["Retry-After"]) > 3540
    said = text_of(votes[1])
    assert said.startswith("Your vote was not counted. Too many requests. Try again in 60 minutes.")
    assert said.count("Too many requests") == 1
    withdrawn = browser.post(f"/votes/{project}", data={"vote": "withdraw"})
    assert text_of(withdrawn).startswith("Your vote was not withdrawn. Too many requests.")
    signed = [Browser(app).post("/sign-in", data={"login": "x", "password": "wrong horse"}) for _ in range(3)]
    assert [answer.status_code for answer in signed] == [401, 429, 429]
    assert shown(signed[1], "login")[0] == "x"


def pressed(browser, project, **given):
    """Press the button of a vote without being signed in: the page to open after signing in."""
    answer = browser.post(f"/votes/{project}?next=/?page=1", **{"data": {"vote": "cast"}, **given})
    assert answer.status_code == 401
    return unquote(re.search(r'action="/sign-in\?next=([^"]+)"', answer.text)[1])


@pytest.mark.parametrize("way", ["/sign-in", "/sign-up"])
def test_a_vote_that_was_pressed_before_signing_in_is_counted_after_it_once(app, world, way):
    world.user("ada")
    project, browser = world.project(), Browser(app)
    then = pressed(browser, project)
    fields = {"login": "ada", "password": PASSWORD}
    if way == "/sign-up":
        fields = {"username": "bob", "email": "bob@example.org", "password": PASSWORD}
    signed = browser.post(f"{way}?next={quote(then, safe='')}", data=fields)
    assert (signed.status_code, signed.headers["Location"]) == (303, then)
    page = browser.get(then)
    assert (page.status_code, page.headers["Cache-Control"]) == (200, "no-store")
    assert "Counted" in text_of(page)
    assert f'href="/?page=1#p-{project}"' in page.text
    assert all(part in page.text for part in ("Withdraw the vote", 'value="withdraw"', 'id="trending"'))
    assert world.stored(project)["upvotes"] == 1
    assert browser.post(f"/votes/{project}", data={"vote": "withdraw"}).status_code == 303
    again = browser.get(then)
    assert "Counted" not in text_of(again)
    assert f'action="/votes/{project}?' in again.text
    assert world.stored(project)["upvotes"] == 0


@pytest.mark.parametrize("mail", [{}, {"MAIL_URL": "smtp://127.0.0.1:1", "MAIL_FROM": "a@b.example"}])
def test_a_visitor_votes_for_the_first_time_in_three_pages_and_is_back_at_the_project(make_app, world, mail):
    project, browser = world.project(title="Lamp"), Browser(make_app(**mail))
    [action] = re.findall(rf'action="(/votes/{project}\?[^"]*)"', browser.get(f"/p/{project}/lamp").text)
    first = browser.post(unescape(action), data={"vote": "cast"})
    [link] = re.findall(r'href="(/sign-up[^"]*)"', first.text)
    second = browser.get(unescape(link))
    [form] = re.findall(r'action="(/sign-up[^"]*)"', second.text)
    fields = {"username": "bob", "email": "bob@example.org", "password": PASSWORD}
    third = browser.get(browser.post(unescape(form), data=fields).headers["Location"])
    assert "Counted" in text_of(third)
    assert ("bob@example.org is not confirmed yet." in text_of(third)) == bool(mail)
    assert world.stored(project)["upvotes"] == 1
    back = browser.get(unescape(re.search('href="([^"]+)">Go back', third.text)[1]))
    assert 'value="withdraw"' in back.text
    assert "Lamp" in text_of(back)


@pytest.mark.parametrize("needed", [{"REQUIRE_VERIFIED_EMAIL": "vote"}, {"SIGNUP_DOMAINS": "example.org"}])
def test_where_a_vote_needs_a_confirmed_address_the_mail_is_said_first(make_app, world, needed):
    app = make_app(MAIL_URL="smtp://127.0.0.1:1", MAIL_FROM="a@b.example", **needed)
    fields = {"username": "bob", "email": "bob@example.org", "password": PASSWORD}
    signed = Browser(app).post(f"/sign-up?next=/voted/{world.project()}", data=fields)
    assert signed.headers["Location"].startswith("/verify?sent=1&next=")


def test_no_link_and_no_other_site_makes_a_person_vote(app, world):
    world.user("ada")
    project, other = world.project(), world.project()
    browser = Browser(app)
    forged = browser.post(f"/votes/{project}", data={"vote": "cast"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert (forged.status_code, "Set-Cookie" in forged.headers) == (403, False)
    for fields in ({"vote": "withdraw"}, {}):
        assert "Set-Cookie" not in browser.post(f"/votes/{project}", data=fields).headers
    browser.sign_in("ada")
    assert "Counted" not in text_of(browser.get(f"/voted/{project}"))
    elsewhere = Browser(app)
    pressed(elsewhere, other)
    elsewhere.sign_in("ada")
    for path in (f"/voted/{project}", f"/voted/{project}?next=/voted/{other}"):
        assert "Counted" not in text_of(elsewhere.get(path))
    assert [world.stored(each)["upvotes"] for each in (project, other)] == [0, 0]
    assert "evil" not in elsewhere.get(f"/voted/{other}?next=//evil.example").text


def test_the_cookie_of_a_pressed_vote_is_for_this_host_and_no_script(app, world):
    answer = Browser(app).post(f"/votes/{world.project()}", data={"vote": "cast"})
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-directory-vote=")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax", "Max-Age=1800"} <= set(cookie.split("; "))


@pytest.mark.parametrize("gone", [True, False])
def test_a_project_that_is_gone_or_no_longer_live_after_signing_in_is_said(app, world, gone):
    owner = world.user("ada")
    project, browser = world.project(owner), Browser(app)
    then = pressed(browser, project)
    admin = world.caller(world.admin())
    if gone:
        world.caller(owner).delete(f"/api/projects/{project}")
    else:
        admin.put(f"/api/admin/projects/{project}/unpublish", {"reason": "The link is dead."})
    world.user("bob")
    page = browser.sign_in("ada" if not gone else "bob").get(then)
    assert page.status_code in {404, 409}
    assert text_of(page).startswith("Your vote was not counted. This project is no longer in the directory.")
    assert f'href="/?page=1#p-{project}"' in page.text


def test_without_a_confirmed_address_the_vote_waits_for_it(make_app, world):
    app = make_app(REQUIRE_VERIFIED_EMAIL="vote", MAIL_URL="smtp://127.0.0.1:1", MAIL_FROM="a@b.example")
    world.user("ada")
    project, browser = world.project(), Browser(app)
    then = pressed(browser, project)
    page = browser.sign_in("ada").get(then)
    assert page.status_code == 403
    assert "Have the link mailed again" in text_of(page)


def test_before_signing_in_the_page_of_a_pressed_vote_leads_to_it(app, world):
    project = world.project()
    answer = Browser(app).get(f"/voted/{project}?next=/mine")
    assert (answer.status_code, answer.headers["Location"]) == (
        303, f"/sign-in?next=%2Fvoted%2F{project}%3Fnext%3D%252Fmine"
    )  # fmt: skip


def test_who_is_not_signed_in_is_asked_to_and_comes_back_to_the_button(app, world):
    project = world.project()
    answer = Browser(app).post(f"/votes/{project}?next=/?page=1", data={"vote": "cast"})
    assert answer.status_code == 401
    assert f'action="/sign-in?next=%2Fvoted%2F{project}%3Fnext%3D%252F%253Fpage%253D1%2523p-{project}"' in answer.text
    assert "Sign in to vote." in text_of(answer)
    assert world.stored(project)["upvotes"] == 0


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "///evil.example",
        "////evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "evil",
        "/\t/x",
    ],
)
def test_a_form_goes_on_to_own_paths_alone(app, world, path):
    world.user("ada")
    browser = Browser(app)
    answer = browser.client.post(
        "/sign-in", query_string={"next": path}, headers=SAME, data={"login": "ada", "password": PASSWORD}
    )
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    answer = browser.client.get("/sign-in", query_string={"next": path})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")


def test_every_form_of_another_site_is_refused_with_a_page(app, world):
    world.user("ada")
    browser = Browser(app).sign_in("ada")
    project = world.project()
    paths = [re.sub("<id:[a-z_]+>", str(project), form.rule) for form in forms(app)]
    assert len(paths) >= 8
    for path in paths:
        for headers in (
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Origin": "https://evil.example"},
        ):
            answer = browser.client.post(path, headers=headers, data={})
            assert (answer.status_code, answer.mimetype) == (403, "text/html"), path
    assert browser.signed_in()


def test_a_form_is_a_form(app, world):
    api = world.caller(world.user())
    for path in (form.rule for form in forms(app) if "<" not in form.rule and form.rule != "/sign-out"):
        # A form of members, or of what is off, is refused before it is read.
        assert api.post(path, {"login": "ada"}).status_code in {401, 404, 409, 415}
        assert api.call(
            "POST", path, data="login=%ff", content_type="application/x-www-form-urlencoded"
        ).status_code in {401, 404, 409, 422}
        assert api.call(
            "POST", path, data="a=" + "x" * 70_000, content_type="application/x-www-form-urlencoded"
        ).status_code in {401, 404, 409, 413}
    repeated = api.call(
        "POST", "/sign-in", data="login=a&login=b&password=x", content_type="application/x-www-form-urlencoded"
    )
    assert (repeated.status_code, shown(repeated, "login")[1]) == (422, "Must be given once.")
    unknown = api.call("POST", "/sign-in", data={"login": "a", "password": "b", "role": "admin"})
    assert unknown.status_code == 422


def test_in_read_only_mode_a_form_is_503_with_a_page(make_app, world):
    world.user("ada")
    app = make_app(READ_ONLY="true")
    answer = Api(app).call("POST", "/sign-in", data={"login": "ada", "password": PASSWORD})
    assert (answer.status_code, answer.mimetype) == (503, "text/html")
    assert "The directory is read-only at present" in Api(app).get("/").text


def test_its_owner_deletes_a_project_by_a_button(app, world):
    ada = world.user("ada")
    own, other = world.project(ada), world.project()
    browser = Browser(app).sign_in("ada")
    assert browser.post(f"/delete/{other}").status_code == 403
    answer = browser.post(f"/delete/{own}")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/mine?done=deleted")
    assert "The project is deleted." in text_of(browser.get("/mine?done=deleted"))
    assert browser.get(f"/p/{own}").status_code == 404
    assert Browser(app).post(f"/delete/{other}").status_code == 401


def test_without_mail_its_pages_are_absent_and_closed_registration_is_said(make_app):
    api = Api(make_app(REGISTRATION_OPEN="false"))
    for path in ("/forgot", "/reset", "/verify", "/mail-off", "/api/auth/notifications/1-x"):
        assert api.get(path, headers={"Accept": "text/html"}).status_code == 404
    assert "New accounts cannot be created at present." in text_of(api.get("/sign-up"))
    answer = api.call("POST", "/sign-up", data={"username": "bob", "email": "a@b.org", "password": PASSWORD})
    assert answer.status_code == 403


MAIL = {"MAIL_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "directory@example.net", "SITE_URL": "https://example.net"}


def test_mail_is_switched_off_by_a_button_and_not_by_opening_the_link(make_app, world):
    from directory.services.accounts import mail_links

    app = make_app(**MAIL)
    ada, api = world.user("ada"), Api(app)
    with app.app_context():
        token = mail_links.unsubscribe_token(
            ada.id, next(one.key for one in app.extensions["webhooks"] if hasattr(one, "key"))
        )
    answer = api.get(f"/api/auth/notifications/{token}")
    assert (answer.status_code, answer.mimetype, answer.headers["Cache-Control"]) == (200, "text/html", "no-store")
    me = world.caller(ada)
    assert me.get("/api/auth/me").json["notify"] is True
    assert f'name="token" value="{token}"' in answer.text
    answer = api.call("POST", "/mail-off", data={"token": token})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/mail-off")
    assert "no longer mailed" in text_of(api.get("/mail-off"))
    assert me.get("/api/auth/me").json["notify"] is False
    dead = api.call("POST", "/mail-off", data={"token": f"{token}x"})
    assert dead.status_code == 404
    assert "This link does not work, or not any more." in text_of(dead)
    assert "<button" not in dead.text.partition("<main")[2].partition("</main>")[0]


def test_pages_of_mailed_links_are_stored_nowhere_and_a_dead_link_is_said(make_app):
    api = Api(make_app(**MAIL))
    for path in ("/reset", "/verify"):
        answer = api.get(f"{path}?token={'t' * 43}")
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
        assert f'value="{"t" * 43}"' in answer.text
        answer = api.call(
            "POST", path, data={"token": "t" * 43, **({"password": PASSWORD} if path == "/reset" else {})}
        )
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
        assert "Have another link mailed" in text_of(answer) or "Sign in to have another link mailed" in text_of(answer)
        assert "There is no link here." in text_of(api.get(path))
    answer = api.call("POST", "/forgot", data={"login": "nobody"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/forgot?sent")
    assert "a link is on its way" in text_of(api.get("/forgot?sent"))


def test_who_signs_up_learns_of_the_mail_and_can_have_its_link_mailed_again(make_app, world):
    app = make_app(**MAIL, REQUIRE_VERIFIED_EMAIL="vote")
    browser, project = Browser(app), world.project()
    typed = {"username": "bob", "email": "bob@example.org", "password": PASSWORD}
    answer = browser.post("/sign-up?next=/tags/blue", data=typed)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/verify?sent=1&next=%2Ftags%2Fblue")
    page = browser.get(answer.headers["Location"])
    assert "We have mailed a link to bob@example.org." in text_of(page)
    assert '<a class="button primary" href="/tags/blue">Go on</a>' in page.text
    refused = browser.post(f"/votes/{project}?next=/", data={"vote": "cast"})
    assert refused.status_code == 403
    assert f'href="/verify?next=%2F%23p-{project}"' in refused.text
    assert "We mail a link to bob@example.org." in text_of(browser.get("/verify"))
    answer = browser.post("/verify/again?next=/tags/blue")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/verify?sent=1&next=%2Ftags%2Fblue")
    with app.app_context():
        assert db.session.scalar(select(func.count()).where(Delivery.event == "account.email_verification")) == 2
    assert Browser(app).post("/verify/again").status_code == 401


def test_a_dead_link_of_a_confirmed_address_says_that_it_is_confirmed(make_app, world):
    world.user("ada")
    app = make_app(**MAIL)
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).values(email_verified_at=now())))
    browser = Browser(app).sign_in("ada")
    answer = browser.post("/verify", data={"token": "t" * 43})
    assert answer.status_code == 422
    assert "Your e-mail address, ada@example.org, is confirmed." in text_of(answer)


def test_a_browser_that_opens_the_address_of_a_button_gets_a_page(app, api, world):
    path = f"/votes/{world.project()}"
    answer = api.get(path, headers={"Accept": "text/html"})
    assert (answer.status_code, answer.mimetype, answer.headers["Allow"]) == (405, "text/html", "OPTIONS, POST")
    assert "This is the address of a button." in text_of(answer)
    for answer in (api.get(path), api.call("PATCH", path, headers={"Accept": "text/html"})):
        assert answer.json["code"] == "method_not_allowed"


def test_the_page_to_go_on_to_is_a_bounded_path_of_this_site() -> None:
    long = "/?q=" + "a" * 1_996
    assert own_path(long) == long
    for given in (
        f"{long}a",
        "/?q=" + "é" * 400,
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "",
        None,
    ):
        assert own_path(given, "/p/1") == "/p/1"
