"""The language of pages and problems: who chooses it, what varies by it, and what does not."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import fromstring as parse

import pytest
from flask import Flask
from sqlalchemy import select

from directory.extensions import db
from directory.language import po
from directory.models import Delivery
from directory.services.delivery.webhooks import formats
from tests.conftest import Database
from tests.support.authenticator import Authenticator
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, World
from tests.support.lying_provider import LyingProvider, walk
from tests.support.routes import operation, routes

HEAD = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n"Plural-Forms: {}\\n"\n'
WORDS = {
    "de": ("nplurals=2; plural=(n != 1);", {"Sign in": "Anmelden", "Categories": "Kategorien", "Not found": "Fehlt"}),
    "ar": (
        "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);",
        {"Sign in": "دخول", "Categories": "تصنيفات"},
    ),
    "pt-BR": ("nplurals=2; plural=(n > 1);", {"Sign in": "Entrar", "Categories": "Categorias"}),
}
SIGN_IN = {"en": "Sign in", **{tag: words["Sign in"] for tag, (_rule, words) in WORDS.items()}}
CHAT = {"WEBHOOK_URL": "https://chat.example/hook", "WEBHOOK_FORMAT": "slack"}
FOR_PROGRAMS = ("/metrics", "/api/openapi.json", "/api/admin/audit")
VARYING = re.compile(r"[0-9a-f]{12,}|[0-9][0-9.:TZ+-]*")  # ids, times and numbers
VARY = "Accept-Language, Cookie, Authorization"


pytestmark = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)  # on either, the words are the same


@pytest.fixture
def make_site(make_app: Any, tmp_path: Path) -> Any:
    """Makes an application in four languages, the operator's catalogues over ours, with a category and a project."""
    for tag, (rule, words) in WORDS.items():
        path = tmp_path / "locale" / tag / "own.po"
        path.parent.mkdir(parents=True)
        entries = [f'\nmsgid "{message}"\nmsgstr "{said}"\n' for message, said in words.items()]
        path.write_text(HEAD.format(rule) + "".join(entries))
    languages = {"SITE_DIR": str(tmp_path), "SITE_LANGUAGES": "en,de,ar,pt-BR", "SITE_URL": "https://example.org"}

    def make(**settings: str) -> Flask:
        app: Flask = make_app(**languages, **settings)
        world = World(app)
        world.project(world.user("ada"), title="Lamp")
        return app

    return make


@pytest.fixture
def site(make_site: Any) -> Flask:
    """Such an application."""
    return make_site()  # type: ignore[no-any-return]


def language_of(answer: Any, *, signed_in: bool = False) -> str:
    """The language that a page says it is in, and is in."""
    found = re.search(r'<html lang="([^"]+)"', answer.text)
    assert found is not None, answer.text[:500]
    assert signed_in or f">{SIGN_IN[found[1]]}<" in answer.text
    return found[1]


CHOICES = (
    ("/", "", "", "en"), ("/", "", "fr", "en"), ("/", "", "fr, de;q=0.5, en;q=0.4", "de"), ("/", "", "DE-at", "de"),
    ("/", "", "pt", "pt-BR"), ("/", "", "pt-PT", "pt-BR"), ("/", "", "*, de;q=0", "en"), ("/", "", "q=,;de", "en"),
    ("/", "", "en;q=0.8,ar", "ar"), ("/", "ar", "de", "ar"), ("/", "xx", "de", "de"), ("/?lang=de", "ar", "", "de"),
    ("/?lang=PT-br", "ar", "", "pt-BR"), ("/?lang=xx", "ar", "de", "ar"), ("/?lang=", "", "de", "de"),
    ("/none?lang=de", "", "", "de"), ("/sign-in?lang=de", "", "", "de"), ("/categories", "", "de", "de"),
)  # fmt: skip


@pytest.mark.parametrize("cache", ["true", "false"])
def test_a_page_is_in_the_language_of_its_address_else_the_cookies_else_what_is_accepted(
    make_site: Any, cache: str
) -> None:
    site = make_site(RESPONSE_CACHE=cache)
    for address, cookie, accepted, language in CHOICES * 2:  # made, and with the cache stored
        headers = {"Accept": "text/html"} | ({"Accept-Language": accepted} if accepted else {})
        client = site.test_client()
        if cookie:
            client.set_cookie("lang", cookie)
        answer = client.get(address, headers=headers)
        assert answer.status_code == (404 if address.startswith("/none") else 200), address
        assert language_of(answer) == language, (address, cookie, accepted)
        assert ('<html lang="ar" dir="rtl">' in answer.text) == (language == "ar")
        assert {*VARY.split(", ")} <= {*answer.headers["Vary"].split(", ")}
        assert "Set-Cookie" not in answer.headers


def test_a_page_that_moved_keeps_the_language_of_its_address(site: Flask) -> None:
    client = site.test_client()
    for old, new in (
        ("/p/1?lang=de", "/p/1/lamp?lang=de"),
        ("/p/1/old?lang=de", "/p/1/lamp?lang=de"),
        ("/p/1?lang=xx", "/p/1/lamp"),
        ("/users/ADA?lang=de", "/users/ada?lang=de"),
        ("/tags/WEB?lang=de", "/tags/web?lang=de"),
        ("/best/2026-w05?page=2&lang=de", "/best/2026-W05?page=2&lang=de"),
    ):
        assert client.get(old).headers.get("Location") == new, old


@pytest.mark.response_cache
def test_a_header_invents_no_entry_of_the_cache(site: Flask) -> None:
    store = site.extensions["response_cache"].store
    client = site.test_client()
    for accepted in ("de", "de-AT", "de-CH;q=0.9, fr", "xx, de", "DE"):
        client.get("/categories", headers={"Accept-Language": accepted})
    client.set_cookie("lang", "de")
    client.get("/categories")
    assert [key for key in store._entries if key[1] == "/categories"] == [("http", "/categories", "", "de")]


@pytest.mark.parametrize(
    "path",
    [
        "/api/projects", "/api/projects.atom", "/api/session", "/robots.txt", "/favicon.svg", "/manifest.webmanifest",
        "/opensearch.xml", "/apple-touch-icon.png", "/sitemap-lists.xml",
        "/assets/{style}",
    ],
)  # fmt: skip
def test_data_feeds_pictures_and_files_do_not_vary_by_language(site: Flask, path: str) -> None:
    client = site.test_client()
    path = path.format(style=site.extensions["web_build"].entries["reading"].style.removeprefix("/assets/"))
    plain, german = (client.get(f"{path}{query}", headers=headers) for query, headers in (
        ("", {}), ("?lang=de" if "/api/" not in path else "", {"Accept-Language": "de", "Cookie": "lang=de"}),
    ))  # fmt: skip
    assert (plain.status_code, plain.data) == (200, german.data)
    assert "Accept-Language" not in german.headers.get("Vary", "")
    assert "Content-Language" not in german.headers


def test_problems_are_in_an_accepted_language_and_data_in_none(site: Flask) -> None:
    client = site.test_client()
    client.set_cookie("lang", "ar")
    problem = client.get("/api/none", headers={"Accept-Language": "de"})
    assert (problem.json["title"], problem.json["code"]) == ("Fehlt", "not_found")
    assert problem.headers["Content-Language"] == "de"
    assert "Accept-Language" in problem.headers["Vary"]
    assert client.get("/api/none").headers["Content-Language"] == "en"


def test_the_switch_sets_the_cookie_and_leads_back(site: Flask) -> None:
    browser = Browser(site)
    page = browser.call("GET", "/tags?lang=ar&page=1").text
    [form] = re.findall(r'<form class="languages".*?</form>', page, re.DOTALL)
    assert '<input type="hidden" name="next" value="/tags?page=1">' in form
    assert 'value="ar" lang="ar" dir="rtl" aria-current="true">العربية' in form
    answer = browser.call("POST", "/language", data={"language": "de", "next": "/tags?page=1"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/tags?page=1")
    assert "lang=de" in answer.headers["Set-Cookie"]
    assert "Max-Age=31536000" in answer.headers["Set-Cookie"]
    assert language_of(browser.call("GET", "/categories")) == "de"
    assert browser.call("POST", "/language", data={"language": "xx"}).status_code == 404
    elsewhere = browser.call("POST", "/language", data={"language": "de", "next": "//evil.example"})
    assert elsewhere.headers["Location"] == "/"


REFUSED = (
    ("/sign-in?next=%2Fmine%3Fx%3D1", {"login": "ada", "password": "wrong one"}, "/sign-in?next=%2Fmine%3Fx%3D1"),
    ("/sign-in?next=/submit&lang=de", {"login": "", "password": ""}, "/sign-in?next=%2Fsubmit"),
    ("/sign-up?next=/submit", {"username": "!", "email": "x", "password": "secret of eve"}, "/sign-up?next=%2Fsubmit"),
    ("/sign-up", {"username": "!", "email": "x", "password": "secret of eve"}, "/sign-up"),
    ("/forgot?lang=ar", {"login": ""}, "/forgot"),
    ("/reset", {"token": "no-token", "password": "secret of eve"}, "/reset?token=no-token"),
    ("/verify?next=/mine", {"token": "no-token"}, "/verify?next=%2Fmine&token=no-token"),
    ("/sign-in/link", {"token": "no-token"}, "/sign-in/link?token=no-token"),
    ("/mail-off", {"token": "no-token"}, "/mail-off?token=no-token"),
    ("/submit", {"title": "x", "password": "secret of eve"}, "/submit"),
)  # fmt: skip


@pytest.mark.parametrize(("address", "typed", "back"), REFUSED)
def test_the_switch_on_a_refused_form_leads_back_to_the_page_of_the_form(
    make_site: Any, address: str, typed: dict[str, str], back: str
) -> None:
    site = make_site(MAIL_URL="smtp://mail.example:25", MAIL_FROM="a@example.org", COOKIE_SECURE="false")
    answer = Browser(site).call("POST", address, data=typed)
    assert answer.status_code in {401, 403, 404, 422}
    [form] = re.findall(r'<form class="languages".*?</form>', answer.text, re.DOTALL)
    [found] = re.findall('name="next" value="([^"]*)"', form)
    assert found.replace("&amp;", "&") == back
    assert site.test_client().get(back).status_code in {200, 303}


def test_each_redirect_to_a_page_keeps_the_language_of_the_address(make_site: Any) -> None:
    """Of every route of the pages, to callers of each kind, with forms that are taken and refused."""
    site = make_site(REPORTS="everybody", MAIL_URL="smtp://mail.example:25", MAIL_FROM="a@example.org")
    found: dict[str, str] = {}
    for name in ("", "ada"):
        browser = Browser(site).sign_in(name) if name else Browser(site)
        for route in routes(site):
            if not operation(site, route).page or route.rule in {"/language", "/sign-out", "/account/delete"}:
                continue
            path = re.sub("<[^>]*>", "1", route.rule)
            form = {"kind": "spam", "text": "x"} if "report" in path else {"title": "x", "token": "x", "login": "ada"}
            answer = browser.call(route.method, f"{path}?lang=de", **({"data": form} if route.method == "POST" else {}))
            if answer.headers.get("Location", "").startswith("/"):
                found[f"{route.name} {name}"] = answer.headers["Location"]
    assert {"GET /mine ", "GET /login ", "GET /p/<id:project_id> ada"} <= found.keys()
    lost = {name: to for name, to in found.items() if not re.search(r"[?&]lang=de(#|$)", to)}
    assert {*lost.values()} <= {"/api/projects.atom"}, lost


def test_a_redirect_names_one_language(site: Flask) -> None:
    browser = Browser(site)
    typed = {"login": "ada", "password": PASSWORD}
    for address, to in (
        ("/sign-in?lang=de&next=/mine%3Flang%3Dar", "/mine?lang=ar"),
        ("/sign-in?next=/mine%3Flang%3Dar", "/mine?lang=ar"),
        ("/sign-in?lang=xx&next=/mine", "/mine"),
        ("/sign-in?lang=de&next=/mine%3Fx%3D1%23a", "/mine?x=1&lang=de#a"),
    ):
        assert browser.call("POST", address, data=typed).headers["Location"] == to
    switched = browser.call("POST", "/language?lang=de", data={"language": "ar", "next": "/mine"})
    assert switched.headers["Location"] == "/mine"


def test_the_pages_before_and_after_one_are_named_in_its_language(site: Flask) -> None:
    world = World(site)
    owner = world.user("bob")
    for number in range(45):
        world.project(owner, title=f"Lamp {number}")
    page = site.test_client().get("/?lang=de&page=2&q=lamp").text
    found = dict(re.findall('<link rel="(prev|next)" href="([^"]*)"', page))
    assert found.keys() == {"prev", "next"}
    assert all(re.search("(lang=de)$", each) for each in found.values()), found


def test_links_of_a_page_with_a_language_keep_it(site: Flask) -> None:
    client = site.test_client()
    page = client.get("/?lang=de&q=lamp").text
    links = re.findall(r'<a [^>]*?href="(/[^"]*)"', page)
    pages = [link for link in links if not link.startswith("/api/")]
    assert pages
    assert [link for link in pages if not re.search(r"(\?|&amp;)lang=de(#|$)", link)] == []
    assert [link for link in links if link.startswith("/api/") and "lang" in link] == []
    assert re.search('<form class="search"[^>]*><input type="hidden" name="lang" value="de">', page)
    assert 'action="/language"' in page
    assert not re.search(r'href="[^"]*lang=', re.sub("<link [^>]*>", "", client.get("/categories").text))


def test_search_engines_find_each_language(site: Flask) -> None:
    client = site.test_client()
    plain, german = client.get("/categories").text, client.get("/categories?lang=de").text
    home = "https://example.org/categories"
    for tag in ("en", "de", "ar", "pt-BR"):
        assert f'<link rel="alternate" hreflang="{tag}" href="{home}?lang={tag}">' in plain
    assert f'<link rel="alternate" hreflang="x-default" href="{home}">' in german
    assert f'<link rel="canonical" href="{home}">' in plain
    assert f'<link rel="canonical" href="{home}?lang=de">' in german
    assert '<meta property="og:title" content="Categories">' in german
    assert "<title>Kategorien · " in german


def test_the_console_is_in_english(site: Flask) -> None:
    answer = site.test_client().get("/admin?lang=de", headers={"Accept-Language": "de"})
    assert '<html lang="en"' in answer.text
    assert "Accept-Language" not in answer.headers["Vary"]


def test_with_one_language_nothing_varies(app: Flask) -> None:
    client = app.test_client()
    client.set_cookie("lang", "de")
    plain, german = client.get("/categories"), client.get("/categories?lang=de", headers={"Accept-Language": "de"})
    assert "Accept-Language" not in plain.headers["Vary"]
    assert plain.text == german.text
    assert "hreflang" not in plain.text
    assert "/language" not in plain.text
    assert Browser(app).call("POST", "/language", data={"language": "en"}).status_code == 404
    problem = client.get("/api/none", headers={"Accept-Language": "de"})
    assert "Content-Language" not in problem.headers
    assert "Accept-Language" not in problem.headers["Vary"]


def test_problems_of_a_site_in_one_other_language_name_it_and_do_not_vary(make_app: Any) -> None:
    client = make_app(SITE_LANGUAGE="de").test_client()
    for path in ("/api/none", "/api/auth/me", "/none"):
        problem = client.get(path, headers={"Accept-Language": "en", "Accept": "application/json"})
        assert (problem.headers["Content-Language"], problem.json["status"]) == ("de", problem.status_code)
        assert "Accept-Language" not in problem.headers["Vary"]
    assert problem.json["title"] == "Nicht gefunden"


@pytest.mark.parametrize(
    ("settings", "language"), [({}, "en"), ({"SITE_LANGUAGE": "fr"}, "fr"), ({"SITE_LANGUAGES": "en,de"}, "en")]
)
def test_a_feed_says_that_it_is_in_the_language_of_the_site(
    make_app: Any, settings: dict[str, str], language: str
) -> None:
    feed = make_app(**settings).test_client().get("/api/projects.atom", headers={"Accept-Language": "de"})
    assert parse(feed.data).get("{http://www.w3.org/XML/1998/namespace}lang") == language


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"SITE_LANGUAGES": "en,tlh"}, "SITE_LANGUAGES: there is no translation into tlh"),
        ({"SITE_LANGUAGE": "tlh"}, "SITE_LANGUAGES: there is no translation into tlh"),
        ({"SITE_LANGUAGE": "en", "SITE_LANGUAGES": "de,ar"}, "SITE_LANGUAGE: en is not among SITE_LANGUAGES: de, ar"),
    ],
)
def test_a_language_without_a_translation_stops_the_start(make_app: Any, settings: dict[str, str], line: str) -> None:
    with pytest.raises(SystemExit, match=re.escape(line)):
        make_app(**settings)


def test_a_fault_in_a_file_of_the_operator_stops_the_start(make_app: Any, tmp_path: Path) -> None:
    path = tmp_path / "locale" / "en" / "words.po"
    path.parent.mkdir(parents=True)
    path.write_text('msgid "By {name}"\nmsgstr "From {nme}"\n')
    with pytest.raises(SystemExit, match=re.escape(f"SITE_DIR: {path}:1: 'From {{nme}}' has not the placeholders")):
        make_app(SITE_DIR=str(tmp_path))


def own_words(root: Path, *places: str) -> str:
    """A SITE_DIR with catalogues at these places, each with the plural rule of German and one word."""
    for place in places:
        path = root / "locale" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD.format("nplurals=2; plural=(n != 1);") + f'\nmsgid "Categories"\nmsgstr "{path.stem}"\n')
    return str(root)


@pytest.mark.parametrize("folder", ["pt_BR", "pt-br", "PT_br"])
def test_the_folder_of_a_language_may_be_named_as_other_programs_name_it(
    make_app: Any, tmp_path: Path, folder: str
) -> None:
    own = own_words(tmp_path, f"{folder}/Shelves.po", f"{folder}/._own.po", f"{folder}/.DS_Store", ".DS_Store")
    (tmp_path / "locale" / folder / "._own.po").write_bytes(b"\x00\x05\x16\x07Mac OS X")
    (tmp_path / "locale" / folder / "Shelves.mo").write_bytes(b"\xde\x12\x04\x95")
    site = make_app(SITE_DIR=own, SITE_LANGUAGES="en,pt-BR")
    assert "<title>Shelves · " in site.test_client().get("/categories?lang=pt-BR").text


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("xx/own.po", "locale/xx: xx is not among SITE_LANGUAGES: en, de"),
        ("fr/own.po", "locale/fr: fr is not among SITE_LANGUAGES: en, de"),
        ("de_AT/own.po", "locale/de_AT: de_AT is not among SITE_LANGUAGES: en, de"),
        ("de/LC_MESSAGES/own.po", "locale/de/LC_MESSAGES/own.po: a translation is a file [language]/[name].po"),
        ("de/LC_MESSAGES/own.mo", "locale/de/LC_MESSAGES/own.mo: a translation is a file [language]/[name].po"),
        ("de/own.po.txt", "locale/de/own.po.txt: a translation is a file [language]/[name].po"),
        ("own.po", "locale/own.po: a translation is a file [language]/[name].po"),
    ],
)
def test_a_translation_in_another_place_stops_the_start_with_its_name(
    make_app: Any, tmp_path: Path, place: str, line: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        make_app(SITE_DIR=own_words(tmp_path, place), SITE_LANGUAGES="en,de")
    assert str(caught.value.code) == f"SITE_DIR: {tmp_path}/{line}"


def test_the_operator_replaces_english_words(make_app: Any, tmp_path: Path) -> None:
    path = tmp_path / "locale" / "en" / "words.po"
    path.parent.mkdir(parents=True)
    path.write_text('msgid "Categories"\nmsgstr "Shelves"\n')
    page = make_app(SITE_DIR=str(tmp_path)).test_client().get("/categories").text
    assert "<title>Shelves · " in page
    assert '<html lang="en">' in page


def test_an_account_has_a_language_of_its_own(site: Flask) -> None:
    visitor = Browser(site)
    visitor.client.set_cookie("lang", "ar")
    new = {"username": "eve", "email": "eve@example.org", "password": PASSWORD}
    assert visitor.call("POST", "/sign-up?lang=de", data=new).status_code == 303
    state = visitor.call("GET", "/api/session").json
    assert (state["language"], state["user"]["language"]) == ("de", "de")
    page = visitor.call("GET", "/categories")
    assert language_of(page, signed_in=True) == "de"
    assert 'value="de" lang="de" dir="ltr" aria-current="true"' in page.text
    assert state["languages"][2] == {"tag": "ar", "name": "العربية", "dir": "rtl"}
    for tag, stored in (("ar", "ar"), ("pt-br", "pt-BR"), (None, None), ("ar", "ar")):
        assert visitor.call("PUT", "/api/auth/me", json={"language": tag}).json["language"] == stored
    refused = visitor.call("PUT", "/api/auth/me", json={"language": "tlh"})
    assert [each["pointer"] for each in refused.json["errors"]] == ["#/language"]
    other = Browser(site)
    other.call("POST", "/sign-in", data={"login": "eve", "password": PASSWORD})
    assert language_of(other.call("GET", "/categories"), signed_in=True) == "ar"
    other.call("POST", "/language", data={"language": "pt-BR", "next": "/"})
    assert visitor.call("GET", "/api/auth/me").json["language"] == "pt-BR"


@pytest.mark.extra("passkeys", "providers")
def test_each_way_to_sign_in_has_pages_speak_the_language_of_the_account(
    make_site: Any, provider: LyingProvider
) -> None:
    site, key, keys = make_site(**provider.environment), Authenticator("https://example.org"), "/api/auth/passkeys"
    provider.person |= {"email": "zoe@example.org", "preferred_username": "zoe"}
    zoe = Browser(site)
    zoe.client.set_cookie("lang", "de")
    walk(zoe, provider)
    assert zoe.get("/api/auth/me").json["language"] == "de"  # a new account has the language of the browser
    assert zoe.put("/api/auth/me", {"language": "ar"}).status_code == 200
    assert zoe.post(keys, {"credential": key.create(zoe.post(f"{keys}/options").json)}).status_code == 201
    printed = site.test_cli_runner().invoke(args=["users", "sign-in-link", "zoe"]).stdout
    token = re.findall(r"/sign-in/link\?token=(\S+)", printed)[0]

    by_provider, by_passkey, by_link = Browser(site), Browser(site), Browser(site)
    walk(by_provider, provider)
    offered = by_passkey.post(f"{keys}/login/options").json
    by_passkey.post(f"{keys}/login", {"credential": key.sign(offered)})
    by_link.post("/sign-in/link", data={"token": token})
    for browser in (by_provider, by_passkey, by_link):
        assert browser.signed_in()
        assert language_of(browser.get("/categories"), signed_in=True) == "ar"


@pytest.mark.extra("providers")
def test_an_account_that_a_provider_opens_has_the_language_of_the_page_that_led_there(
    make_site: Any, provider: LyingProvider
) -> None:
    new = Browser(make_site(**provider.environment))
    provider.person |= {"email": "zoe@example.org", "preferred_username": "zoe"}
    new.client.set_cookie("lang", "de")
    page = new.get("/sign-in?lang=ar&next=/categories").text
    [to] = re.findall('href="/api/auth/providers/company[?]next=([^"]*)"', page)
    assert walk(new, provider, next=unquote(to)).headers["Location"] == "/categories?lang=ar"
    assert new.get("/api/auth/me").json["language"] == "ar"


@pytest.mark.parametrize("cache", ["true", "false"])
def test_two_languages_at_once_in_one_process_do_not_mix(make_site: Any, cache: str) -> None:
    site, tags = make_site(RESPONSE_CACHE=cache), ("en", "de", "ar", "pt-BR") * 6
    paths = ("/categories", "/sign-in", "/help", "/none")

    def read(tag: str) -> list[str]:
        client, headers = site.test_client(), {"Accept-Language": tag, "Accept": "text/html"}
        return [language_of(client.get(path, headers=headers)) for path in paths]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, tags)) == [[tag] * len(paths) for tag in tags]


def test_a_broken_translation_of_ours_leaves_all_in_english(
    make_app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "de" / "messages.po"
    path.parent.mkdir()
    path.write_text('msgid "Categories"\nmsgstr "Kategorien\n')
    monkeypatch.setattr(po, "OURS", tmp_path)
    answer = make_app(SITE_LANGUAGES="en,de").test_client().get("/categories?lang=de")
    assert (answer.status_code, "<h1>Categories</h1>" in answer.text) == (200, True)
    assert '<html lang="de">' in answer.text
    assert [each.reason for each in caplog.records if each.message == "a translation cannot be read"] == [
        f"{path}:2: is not a line of a .po file"
    ]


def test_what_programs_and_operators_read_is_in_english(
    make_app: Any, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log, the audit log, webhooks, metrics, commands and the document of the API, whoever asks for what."""

    def read(language: str) -> dict[str, str]:
        database.reset()
        app = make_app(SITE_LANGUAGE=language, METRICS_ENABLED="true", LOG_LEVEL="INFO", **CHAT)
        world, accepted = World(app), {"Accept-Language": "de"}
        member, admin = world.caller(world.user("ada")), world.caller(world.admin("grace"))
        project = {"title": "Lamp", "tagline": "Lights", "url": "https://lamp.example", "category": world.category()}
        made = member.post("/api/projects", project, headers=accepted).json["id"]
        refused = member.post("/api/projects", {}, headers=accepted).json["detail"]
        assert ("not valid" in refused) == (language == "en")
        for decision in ("approve", "unpublish"):
            admin.put(f"/api/admin/projects/{made}/{decision}", {"reason": "No."}, headers=accepted)
        found = {path: admin.get(path, headers=accepted).text for path in FOR_PROGRAMS}
        found["command"] = app.test_cli_runner().invoke(args=["users", "list"]).output
        found["log"] = capsys.readouterr().err
        with app.app_context():
            payloads = list(db.session.scalars(select(Delivery.payload).order_by(Delivery.id)))
        found["webhook"] = formats.render("slack", payloads[0], app.extensions["site"]).decode()
        return found

    in_english, in_german = read("en"), read("de")
    assert "Project approved" in in_english["webhook"]
    assert all(in_english.values())
    for name, text in in_english.items():
        assert VARYING.sub("#", text) == VARYING.sub("#", in_german[name]), name
