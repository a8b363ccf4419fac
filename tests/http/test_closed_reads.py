"""READS=members: what anonymous callers get of a directory that only members read, by every way to an answer."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event

from directory.extensions import db
from directory.http import access
from tests.api.test_public_walk import public_reads
from tests.conftest import Statements
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import PASSWORD, Api, World
from tests.support.lists import THIS_YEAR
from tests.support.members import bearer, by_loop
from tests.support.reading import FastPath, fast_path
from tests.support.web import built

__all__ = ["built"]
pytestmark = pytest.mark.usefixtures("built")

# What is open, as it is promised; the routes have it from `access.OPEN`.
OF_EXTRAS = {
    "/api/auth/passkeys/login/options", "/api/auth/passkeys/login", "/api/auth/providers/<provider>",
    "/api/auth/providers/<provider>/callback",
}  # fmt: skip
OPEN = OF_EXTRAS | {
    "/healthz", "/readyz", "/metrics", "/api/session", "/assets/<name>", "/robots.txt", "/favicon.svg", "/favicon.ico",
    "/apple-touch-icon.png", "/manifest.webmanifest", "/.well-known/security.txt", "/.well-known/change-password",
    "/api/problems", "/api/problems/<code>", "/sign-in", "/sign-in/link", "/login", "/sign-up", "/register",
    "/sign-out", "/forgot", "/language", "/reset", "/verify", "/mail-off", "/api/auth/register", "/api/auth/login",
    "/api/auth/logout", "/api/auth/password/forgot",
    "/api/auth/password/reset", "/api/auth/email/verify", "/api/auth/notifications/<token>", "/imprint",
}  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
# What may be asked for in other words: filters, errors, conditions, parts, codings, and credentials that are none.
VARIANTS: list[tuple[str, dict[str, str]]] = [
    ("?q=quagga&category=zymurgy&tag=numbat&owner=xiphias", {}), ("?limit=0", {}), ("?page=99999999", {}),
    ("", {"If-None-Match": "*"}),
    ("", {"If-Match": '"1"'}), ("", {"Range": "bytes=0-10"}), ("", {"Accept-Encoding": "gzip"}),
    ("", {"Accept": "application/json"}), ("", {"Origin": "https://other.example"}),
    ("", {"Cookie": f"{COOKIE}=none"}), ("", {"X-Forwarded-For": "127.0.0.1"}),
]  # fmt: skip
NOTHING: dict[str, str] = {}
NEXT = re.compile(r'\?next=[^"]*|(?<= data-passkey=)"[^"]*"')


class Directory:
    """A directory whose every text is one that nothing else has; `secrets` are these texts."""

    def __init__(self, world: World) -> None:
        world.category("zymurgy")
        self.ada = world.user("xiphias")
        self.project = world.project(
            self.ada, "live", 3, title="Quagga Lantern", tagline="Basalt and ochre", description="Vermilion prose.",
            tags=["numbat"], category="zymurgy", author="Wombatina", url="https://okapi.example/x",
        )  # fmt: skip
        self.hidden = world.project(self.ada, "pending", title="Narwhal Ledger")
        self.digest = str(world.picture(self.project)["640"]).partition("/images/")[2].removesuffix(".webp")
        self.slug = world.stored(self.project)["slug"]
        assert len(self.digest) == 64
        self.secrets = {
            self.digest,
            "handbook", "quagga", "basalt", "vermilion", "numbat", "zymurgy", "xiphias", "wombatina", "okapi",
            "narwhal", "obsidian",
        }  # fmt: skip

    def addresses(self, app: Flask) -> Iterator[tuple[str, str, str]]:
        """Each rule, with an address of it where something is, and one where nothing is."""
        for rule in sorted({rule.rule for rule in app.url_map.iter_rules()}):
            here = {
                "<id:project_id>": self.project, "<id:user_id>": self.ada.id, "<username:username>": "xiphias",
                "<username>": "xiphias", "<slug>": "zymurgy", "<slug:slug>": "zymurgy", "<tag>": "numbat",
                "<title>": self.slug, "<published>": THIS_YEAR, "<path:name>": "notes.txt", "<path:form>": "email",
                "<name>": self.digest, "<code>": "not_found",
            }  # fmt: skip
            there = {"<title>": "none", "<published>": "1999", "<name>": "0" * 64}
            yield rule, _filled(rule, here, "1"), _filled(rule, there, "999999")


def _filled(rule: str, values: dict[str, Any], other: str) -> str:
    return re.sub("<[^>]*>", lambda found: str(values.get(found[0], other)), rule)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A SITE_DIR: two pages, one of which OPEN_PAGES names, and a file."""
    for name, text in (("pages/imprint.md", "# Imprint"), ("pages/handbook.md", "# Obsidian handbook")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "notes.txt").write_text("Obsidian notes")
    return tmp_path


@pytest.fixture
def closed(make_app: Any, folder: Path) -> Any:
    """Builds applications of a directory that only members read."""

    def make(**settings: str) -> Flask:
        given = {"SITE_URL": "https://directory.example", "SECURITY_CONTACT": "mailto:a@b.example", "SITE_DIR": folder}
        app: Flask = make_app(READS="members", **given, **settings)
        return app

    return make


@pytest.fixture
def directory(world: World) -> Directory:
    return Directory(world)


def warm(app: Flask, world: World, directory: Directory) -> FastPath:
    """Have a member read everything, twice, by the application and by the loop, so that all that is stored is valid."""
    fast, who = fast_path(app), bearer(world, directory.ada)
    paths = [here for rule, here, _ in directory.addresses(app) if not rule.startswith("/api/auth/")]
    paths += ["/api/projects?q=quagga", "/?q=quagga", "/api/projects?sort=upvotes", "/api/projects?owner=xiphias"]
    for path in paths * 2:
        Api(app).get(path, headers=who)
    assert by_loop(fast, "/api/projects", who) is not None, "the list is not stored"
    return fast


def of_address(text: str) -> str:
    """The text of an answer without the address that it leads back to."""
    return NEXT.sub("", text)


@pytest.mark.response_cache
def test_no_anonymous_answer_says_anything_of_what_is_inside(closed: Any, world: World, directory: Directory) -> None:
    """Over the route table, by the cache, by the application alone and by the loop, after a member has read all of it.

    All addresses that are closed have one answer: a problem under /api/, elsewhere the page that signs in.
    """
    cached, uncached = closed(), closed(RESPONSE_CACHE="false")
    fast = warm(cached, world, directory)
    reads = public_reads(cached)
    wrong, answers = [], set()
    for rule, here, there in [*directory.addresses(cached), ("", "/none", "/api/none")]:
        asked = [(cached, method, path, NOTHING) for method in METHODS for path in (here, there)]
        asked += [(uncached, "GET", here, NOTHING)]
        asked += [(cached, "GET", here + query, given) for query, given in VARIANTS if rule in reads - OPEN]
        for app, method, path, headers in asked:
            answer = Api(app).call(method, path, headers={"X-Request-ID": "walk", **headers})
            wrong += check(answer, directory, f"{method} {path} {headers}")
            if method == "GET":
                by_the_loop = by_loop(fast, path, {"X-Request-ID": "walk", **headers})
                wrong += [f"{path} by the loop"] if by_the_loop is not None and rule not in OPEN else []
            if rule not in OPEN:
                kind = "api" if path.startswith("/api/") else "form" if method == "POST" else "page"
                text = "" if kind == "form" else of_address(answer.text)
                answers.add((kind, method, answer.status_code, answer.content_type, text))
    assert wrong == []
    assert {status for _, _, status, _, _ in answers} == {401}
    assert {(kind, method) for kind, method, *_ in answers} == {
        (kind, method) for kind in ("api", "page") for method in METHODS if (kind, method) != ("page", "POST")
    } | {("form", "POST")}
    assert len(answers) == 2 * len(METHODS)


def check(answer: Any, directory: Directory, asked: str) -> list[str]:
    """What is wrong with an anonymous answer: a word of what is inside, or one that a shared cache may store."""
    text = of_address(answer.data.decode(errors="replace")) + "\n".join(
        f"{name}: {value}" for name, value in answer.headers
    )
    said = [f"{asked}: {word}" for word in directory.secrets if word in text.lower() and word not in asked.lower()]
    caching = answer.headers["Cache-Control"]
    is_shared = not caching.startswith("private") and "/assets/" not in asked
    return said + ([f"{asked}: {caching}"] if is_shared else [])


def test_the_open_routes_are_those_that_are_promised(closed: Any) -> None:
    app = closed(OPEN_PAGES="imprint,terms,submit")
    rules = {rule.rule for rule in app.url_map.iter_rules()}
    assert {rule for rule in rules if access.is_open(app, rule)} == OPEN - (OF_EXTRAS - rules)
    assert access.OPEN - rules <= OF_EXTRAS


def test_a_page_leads_back_to_its_address_after_signing_in(closed: Any, directory: Directory) -> None:
    browser = Browser(closed())
    address = f"/p/{directory.project}/{directory.slug}?theme=a%20b&c=d"
    for path in (address, "/none?theme=a%20b&c=d", "/mine"):
        answer = browser.get(path)
        assert (answer.status_code, answer.content_type) == (401, "text/html; charset=utf-8")
        [action] = re.findall(r'method="post" action="([^"]*)"', answer.text)
        login = {"login": "xiphias", "password": PASSWORD}
        signed_in = browser.post(action.replace("&amp;", "&"), data=login)
        assert (signed_in.status_code, signed_in.headers["Location"]) == (303, path)
        assert browser.get(path).status_code == (404 if path.startswith("/none") else 200)
        assert browser.post("/sign-out").status_code == 303


def test_a_form_that_is_sent_after_the_session_has_ended_is_kept(closed: Any, directory: Directory) -> None:
    browser = Browser(closed())
    answer = browser.post("/submit", data={"title": "Typed title", "tagline": "Typed", "description": "Words"})
    assert (answer.status_code, "Typed title" in answer.text, 'name="kept"' in answer.text) == (401, True, True)
    vote = browser.post(f"/votes/{directory.project}", data={"vote": "cast"})
    assert (vote.status_code, "Sign in to vote" in vote.text) == (401, True)


def test_who_deletes_the_account_is_told_so_at_once(closed: Any, directory: Directory) -> None:
    browser = Browser(closed()).sign_in("xiphias")
    answer = browser.post("/account/delete", data={"sure": "true", "current_password": PASSWORD})
    assert (answer.status_code, "Your account is deleted" in answer.text, "data-left" in answer.text) == (
        200,
        True,
        True,
    )
    assert ("quagga" in answer.text.lower(), browser.signed_in()) == (False, False)
    assert browser.get("/account/deleted").status_code == 401


def test_without_pages_every_address_is_a_problem(closed: Any) -> None:
    api = Api(closed(WEB_ENABLED="false"))
    assert {
        (api.get(path).status_code, api.get(path).json["code"]) for path in ("/", "/none", "/api/none", "/p/1")
    } == {(401, "unauthenticated")}
    assert [api.get(path).status_code for path in ("/healthz", "/api/session", "/api/problems")] == [200] * 3


def test_forms_do_not_say_what_is_there(closed: Any, directory: Directory) -> None:
    app = closed()
    for rule, here, there in directory.addresses(app):
        if rule in OPEN or rule.startswith("/api/") or "<id:project_id>" not in rule:
            continue
        both = [Browser(app).post(path, data={"text": "x", "version": "1", "vote": "cast"}) for path in (here, there)]
        texts = [re.sub("999999", str(directory.project), of_address(each.text)) for each in both]
        assert ([each.status_code for each in both], texts[0]) == ([401, 401], texts[1]), rule


def test_a_bad_token_gets_the_same_everywhere(closed: Any, directory: Directory) -> None:
    api = Api(closed(), "none")
    pages = {(got := api.get(path)).status_code: of_address(got.text) for path in ("/", "/none", "/p/1", "/admin")}
    assert (pages.keys(), len({*pages.values()})) == ({401}, 1)
    assert {api.get(path).json["code"] for path in ("/api/projects", "/api/none")} == {"unauthenticated"}


def test_preflights_are_answered_alike_and_every_other_options_is_refused(closed: Any, directory: Directory) -> None:
    trusted = "https://app.example.com"
    app = closed(CORS_ORIGINS=trusted)
    paths = (f"/api/projects/{directory.project}", "/api/projects/999999", "/api/none", "/sign-in", "/healthz", "/none")
    asks = {"Access-Control-Request-Method": "GET", "X-Request-ID": "walk"}

    def options(origin: str | None) -> set[tuple[int, Any]]:
        headers = asks if origin is None else {**asks, "Origin": origin}
        answers = [Api(app).call("OPTIONS", path, headers=headers) for path in paths]
        return {(each.status_code, tuple(each.headers) if each.status_code == 204 else ()) for each in answers}

    [(status, headers)] = options(trusted)
    assert (status, dict(headers)["Access-Control-Allow-Origin"]) == (204, trusted)
    assert options("https://other.example") == options(None) == {(401, ())}
    member = Browser(app).sign_in("xiphias")
    assert member.call("OPTIONS", paths[0]).headers["Allow"] == "DELETE, GET, HEAD, OPTIONS, PUT"


def test_what_a_member_reads_is_for_no_shared_cache(closed: Any, world: World, directory: Directory) -> None:
    """Nor may a page of another site show a picture, or a stranger be told more of the process than its state."""
    app = closed()
    member = world.caller(directory.ada)
    caller = Api(app, member.token)
    for rule, here, _ in directory.addresses(app):
        caching = caller.get(here).headers["Cache-Control"]
        assert caching.startswith("private") or rule == "/assets/<name>", (here, caching)
    picture = caller.get(f"/images/{directory.digest}.webp")
    assert (picture.status_code, picture.headers["Cache-Control"]) == (200, "private, max-age=31536000, immutable")
    assert (picture.headers["Cross-Origin-Resource-Policy"], picture.headers["Vary"]) == (
        "same-origin", "Cookie, Authorization",
    )  # fmt: skip
    assert caller.get("/sitemap.xml").status_code == 404
    assert Api(app).get("/robots.txt").text == "User-agent: *\nDisallow: /\n"
    assert "badge.svg" not in caller.get(f"/mine/{directory.project}").text
    assert Api(app).get("/readyz").json == {"status": "ready"}
    assert caller.get("/readyz").json.keys() == {"status", "version", "commit", "checks"}
    assert [Api(app).get("/api/session").json["reads"], caller.get("/api/session").json["reads"]] == ["members"] * 2


def test_the_open_pages_lead_to_no_closed_one(closed: Any, directory: Directory) -> None:
    """But to the directory itself, which asks to sign in."""
    app = closed()
    for path in ("/sign-in", "/sign-up", "/imprint", "/verify", "/", "/api/problems/not_found"):
        text = Api(app).get(path).text
        found = {*re.findall(r'(?:href|src|action)="(/[^"#?]*)', text)} - {"/"}
        assert {each for each in found if Api(app).get(each).status_code in (401, 404)} - {"/api/docs"} == set(), path


@pytest.mark.response_cache
def test_a_members_list_costs_the_statements_that_it_costs_in_a_public_directory(
    closed: Any, app: Flask, world: World, directory: Directory
) -> None:
    """It comes from the cache, by the loop too. The first read of a session has one statement more."""
    who, costs = bearer(world, directory.ada), []
    for each in (app, closed()):
        fast = warm(each, world, directory)
        Api(each).get("/api/projects", headers=who)
        with recorded(each) as statements:
            assert Api(each).get("/api/projects", headers=who).status_code == 200
            assert by_loop(fast, "/api/projects", who) is not None
            assert by_loop(fast, f"/api/projects/{directory.project}", who) is not None
        costs.append([*statements])
    assert costs[0] == costs[1]


@pytest.mark.response_cache
def test_a_credential_that_is_none_costs_the_same_whatever_is_stored(
    closed: Any, world: World, directory: Directory
) -> None:
    """Else the time of the answer would say what members have read, and what is there."""
    app = closed()
    fast = warm(app, world, directory)
    costs: dict[str, set[int]] = {}
    paths = ("/api/projects?q=quagga", "/api/projects?q=none", "/", f"/p/{directory.project}/{directory.slug}",
             "/p/999999/x", f"/api/projects/{directory.project}", "/api/projects/999999", "/api/none")  # fmt: skip
    for number, path in enumerate(paths):
        for headers in ({"Cookie": f"{COOKIE}=none{number}"}, {"Authorization": f"Bearer none{number}"}):
            assert by_loop(fast, path, headers) is None
            with recorded(app) as statements:
                assert Api(app).get(path, headers=headers).status_code == 401
            costs.setdefault(next(iter(headers)), set()).add(len(statements))
    assert {kind: len(numbers) for kind, numbers in costs.items()} == {"Cookie": 1, "Authorization": 1}


@pytest.mark.response_cache
def test_who_was_signed_in_gets_nothing_of_the_cache(closed: Any, directory: Directory) -> None:
    app = closed()
    fast, browser = fast_path(app), Browser(app).sign_in("xiphias")
    who = {"Cookie": f"{COOKIE}={browser.cookie}"}
    for _ in range(2):
        assert Api(app).get("/api/projects", headers=who).status_code == 200
    assert by_loop(fast, "/api/projects", who) is not None
    assert browser.post("/api/auth/logout").status_code == 204
    assert by_loop(fast, "/api/projects", who) is None
    assert Api(app).get("/api/projects", headers=who).status_code == 401


@contextmanager
def recorded(app: Flask) -> Iterator[Statements]:
    """The statements of an application, by whichever connection."""
    statements = Statements()
    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", statements.note)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", statements.note)
