"""Forms that browsers send from our own pages pass, those of other sites are refused in words for a person."""

import html
import re

import pytest

from directory.language import po
from directory.pages.layout import IN_PERSON
from tests.pages.conftest import text_of
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import PASSWORD, Api

EVIL = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
OPAQUE = {"Sec-Fetch-Site": "cross-site", "Origin": "null"}


@pytest.fixture
def members(world):
    return world.user("ada"), world.project(title="Lamp")


def test_pages_let_browsers_send_their_origin_and_the_api_sends_no_referrer(app, members):
    api = Api(app)
    pages = (
        "/",
        "/p/1/lamp",
        "/sign-in",
        "/sign-up",
        "/submit",
        "/admin",
        "/nothing",
        "/problems",
    )
    for path in pages:
        for _ in range(2):  # the second answer comes from the cache
            answer = api.get(path, headers={"Accept": "text/html"})
            if answer.mimetype == "text/html" and answer.status_code != 303:  # who is not signed in is asked to
                assert answer.headers.get_all("Referrer-Policy") == ["same-origin"], path
    for path in ("/api/projects", "/api/session", "/api/docs", "/api/nothing", "/favicon.svg", "/robots.txt"):
        assert api.get(path).headers.get_all("Referrer-Policy") == ["no-referrer"], path


def test_pages_whose_address_holds_a_secret_send_no_more_than_the_origin(make_app, world):
    api = Api(make_app(MAIL_URL="smtp://localhost", MAIL_FROM="a@example.org"))
    for path in ("/reset?token=x", "/verify?token=x", "/api/auth/notifications/secret"):
        answer = api.get(path)
        assert answer.headers.get_all("Referrer-Policy") == ["strict-origin"], path
    refused = api.post("/reset", data={"token": "x", "password": PASSWORD}, headers=OPAQUE)
    assert (refused.status_code, refused.headers["Referrer-Policy"]) == (403, "strict-origin")


def test_pages_with_a_secret_in_their_address_keep_it_when_there_is_nothing_to_show(app):
    for path in ("/reset?token=x", "/verify?token=x", "/api/auth/notifications/secret"):
        answer = Api(app).get(path)  # no mail is sent
        assert (answer.status_code, answer.headers["Referrer-Policy"]) == (404, "strict-origin")


@pytest.mark.parametrize("given", [EVIL, OPAQUE, {"Sec-Fetch-Site": "cross-site"}], ids=str)
def test_a_refused_form_is_shown_again_with_what_was_typed_and_a_sentence_for_a_person(app, members, given):
    browser = Browser(app)
    typed = {"login": 'ada"<b>', "password": "wrong horse battery"}
    answer = browser.post("/sign-in?next=/mine", data=typed, headers=given)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (403, "no-store")
    assert html.escape(typed["login"], quote=False).replace('"', "&#34;") in answer.text
    assert typed["password"] not in answer.text
    assert "Nothing was changed, because your browser did not confirm" in text_of(answer)
    assert "Open the page again, and send it once more." in text_of(answer)
    assert "bearer" not in answer.text
    assert 'action="/sign-in?next=%2Fmine"' in answer.text
    typed = {"username": "bob", "email": "bob@example.org", "password": PASSWORD}
    answer = browser.post("/sign-up", data=typed, headers=given)
    assert answer.status_code == 403
    assert re.search('<input id="email"[^>]*value="bob@example.org"', answer.text)


@pytest.mark.parametrize("tag", ["en", "de", "fr", "es", "pt-BR", "ja", "ar"])
def test_what_a_person_reads_of_a_refused_form_names_no_header_in_any_language(tag):
    title, detail = IN_PERSON["cross_site_request"]
    language = po.catalogue(tag, po.our_files(tag))
    assert (language.say(detail) == detail) == (tag == "en")
    assert not re.search("Origin|[Hh]eader|encabezado|cabeçalho|en-tête|ヘッダー|ترويسة", language.say(detail))
    assert (language.say(title) == title) == (tag == "en")


@pytest.mark.parametrize("body", [b"\xff", b"a=%ff", b"login=" + b"x" * 70_000], ids=["bytes", "percent", "large"])
def test_a_refused_form_that_cannot_be_read_is_refused_all_the_same(app, body):
    kind = "application/x-www-form-urlencoded"
    answer = Api(app).post("/sign-in", data=body, headers=EVIL, content_type=kind)
    assert (answer.status_code, answer.mimetype) == (403, "text/html")
    assert "Nothing was changed" in text_of(answer)


def test_a_refused_button_says_so_and_never_asks_another_sites_visitor_to_sign_in_for_it(app, world, members):
    _, project = members
    signed_in, visitor = Browser(app).sign_in("ada"), Browser(app)
    for browser in (signed_in, visitor):
        answer = browser.post(f"/votes/{project}?next=/", data={"vote": "cast"}, headers=EVIL)
        assert answer.status_code == 403
        assert text_of(answer).startswith("Your vote was not counted. Nothing was changed")
        assert "Sign in to vote" not in answer.text
    assert world.stored(project)["upvotes"] == 0


def test_in_read_only_mode_a_form_keeps_what_was_typed(make_app, world):
    world.user("ada")
    answer = Browser(make_app(READ_ONLY="true")).post("/sign-in", data={"login": "ada", "password": PASSWORD})
    assert answer.status_code == 503
    assert 'value="ada"' in answer.text
    assert PASSWORD not in answer.text


def test_the_sites_own_address_counts_as_this_site_behind_a_proxy_that_passes_on_another_host(make_app, world):
    world.user("ada")
    app = make_app(SITE_URL="https://directory.example:8443")
    for origin, status in (
        ("https://directory.example:8443", 303),
        ("https://directory.example", 403),
        ("http://directory.example:8443", 403),
        ("null", 403),
    ):
        given = {"Origin": origin, "Host": "10.0.0.11:8000", "Cookie": f"{COOKIE}=dead"}
        answer = Api(app).post("/sign-in", data={"login": "ada", "password": PASSWORD}, headers=given)
        assert answer.status_code == status, origin


def test_without_a_site_url_no_empty_origin_counts_as_this_site(app, world):
    world.user("ada")
    given = {"Origin": "", "Cookie": f"{COOKIE}=dead"}
    assert Api(app).post("/sign-in", data={"login": "ada", "password": PASSWORD}, headers=given).status_code == 403


@pytest.mark.parametrize("path", ["/sign-in", "/sign-up"])
def test_at_an_http_address_where_the_browser_drops_the_cookie_the_form_says_so(make_app, world, path):
    world.user("ada")
    typed = {"login": "ada", "username": "bob", "email": "bob@example.org", "password": PASSWORD}
    names = ("login", "password") if path == "/sign-in" else ("username", "email", "password")
    typed = {name: typed[name] for name in names}
    for app, origin, said in (
        (make_app(), "http://directory.lan", True),
        (make_app(TRUSTED_PROXIES=1), "http://directory.lan", True),
        (make_app(), "http://localhost", False),
        (make_app(), "https://directory.lan", False),  # a proxy ends TLS
        (make_app(APP_ENV="development"), "http://directory.lan", False),
    ):
        given = {"Origin": origin, "Host": origin.partition("//")[2]}
        answer = Api(app).post(path, data=typed, headers=given)
        assert ("begins with http://" in answer.text) == said
        if said:
            assert (answer.status_code, "Set-Cookie" in answer.headers) == (422, False)
            assert PASSWORD not in answer.text
        elif path == "/sign-in":
            assert (answer.status_code, "Set-Cookie" in answer.headers) == (303, True)
