"""The settings of a private directory in combination: each answer is what its own settings say, whatever the others.

Eight combinations of seven settings have any two of them in all four ways (Plackett and Burman, Biometrika 1946).
"""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Identity, Session, User, now
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import PASSWORD, Api, World
from tests.support.lying_provider import LyingProvider, walk
from tests.support.members import by_loop
from tests.support.pairwise import assert_pairwise
from tests.support.reading import FastPath, fast_path

READS, PASSWORDS, DOMAINS, GROUPS, HOURS, CACHE, LANGUAGES = NAMES = (
    "READS", "PASSWORDS", "SIGNUP_DOMAINS", "roles", "SESSION_HOURS", "RESPONSE_CACHE", "SITE_LANGUAGES",
)  # fmt: skip
FIRST = "+++-+--"
DESIGN = [*(FIRST[n:] + FIRST[:n] for n in range(7)), "-" * 7]
SWITCHED = {
    READS: "members", PASSWORDS: "off", DOMAINS: "example.org", HOURS: "8", CACHE: "false", LANGUAGES: "en,de",
}  # fmt: skip
ROLES = {"claim": "groups", "reviewer": ["Reviewers"], "member": ["Staff"]}
MAIL = {"MAIL_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "a@example.net", "SITE_URL": "https://directory.example"}
FEED, NOT_ADMITTED = "/api/projects.atom", "/sign-in?sign-in=failed&reason=not_admitted"


def settings(switched: set[str], provider: LyingProvider) -> dict[str, str]:
    """The settings of an application where these are switched."""
    roles = {"roles": ROLES} if GROUPS in switched else {}
    given = {**MAIL, "RESPONSE_CACHE": "true", "OIDC_PROVIDERS": json.dumps([{**provider.settings(), **roles}])}
    return given | {name: SWITCHED[name] for name in switched - {GROUPS}}


def sign_in(app: Flask, provider: LyingProvider, name: str, email: str, *groups: str) -> tuple[Browser, str]:
    """A browser in which a person has come back from the provider, and where it was sent then."""
    provider.person |= {"sub": name, "preferred_username": name, "email": email}
    provider.claims = {"groups": [*groups]}
    browser = Browser(app)
    return browser, walk(browser, provider).headers["Location"].partition("&provider")[0]


def grow_old(app: Flask, **ages: float) -> None:
    """Make all sign-ins older."""
    at = now() - timedelta(**ages)
    with app.app_context():
        transaction(lambda: db.session.execute(update(Session).values(created_at=at)))
        transaction(lambda: db.session.execute(update(Identity).values(last_used_at=at)))


def test_the_design_has_any_two_settings_in_all_four_combinations() -> None:
    assert_pairwise(DESIGN, 7)


@pytest.mark.extra("feed_keys", "providers")
@pytest.mark.response_cache
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)  # on either, settings decide above the database
@pytest.mark.parametrize("row", DESIGN)
def test_each_setting_of_a_private_directory_holds_whatever_the_others_are(
    make_app: Any, provider: LyingProvider, row: str
) -> None:
    switched = {name for name, sign in zip(NAMES, row, strict=True) if sign == "+"}
    app = make_app(**settings(switched, provider))
    world = World(app)
    project = world.project(world.user("owner"), title="Quagga")
    anonymous(app, switched, project)
    who_is_admitted(app, provider, switched)
    passwords(app, world, switched)
    ends(app, provider, switched)


def anonymous(app: Flask, switched: set[str], project: int) -> None:
    """Who is not signed in reads what READS says, in a language of the site, also after members have read it."""
    member, status = Browser(app, session_of(app, "owner")), 401 if READS in switched else 200
    fast = FastPath(app) if CACHE in switched else fast_path(app)
    cookie = {"Cookie": f"{COOKIE}={member.cookie}", "Sec-Fetch-Site": "same-origin"}
    for path in ("/api/projects", f"/api/projects/{project}", FEED, "/", "/categories"):
        for _ in range(2):
            assert member.get(path).status_code == 200, path
        for headers in ({}, {"Accept-Encoding": "gzip"}, {"Cookie": f"{COOKIE}=none"}):
            answer, by_the_loop = Api(app).get(path, headers=headers), by_loop(fast, path, headers)
            assert answer.status_code == status, path
            assert by_the_loop is None or by_the_loop[0] == status, path
            assert answer.headers["Cache-Control"].startswith("private") is (status == 401), path
    assert (by_loop(fast, "/api/projects", cookie) is not None) is (CACHE not in switched)
    page = Api(app).get("/", headers={"Accept-Language": "de"})
    assert f'<html lang="{"de" if LANGUAGES in switched else "en"}"' in page.text
    assert Api(app).get("/api/session").json["reads"] == ("members" if READS in switched else "public")


def who_is_admitted(app: Flask, provider: LyingProvider, switched: set[str]) -> None:
    """A new person needs a group where members are listed, and an address in the domains where there are some."""
    for name, email, *groups in (
        ("inside", "inside@example.org", "Staff", "Reviewers"), ("nogroup", "nogroup@example.org"),
        ("outside", "outside@evil.example", "Staff"), ("neither", "neither@evil.example"),
    ):  # fmt: skip
        refused = (DOMAINS in switched and "evil" in email) or (GROUPS in switched and not groups)
        browser, where = sign_in(app, provider, name, email, *groups)
        assert where == (NOT_ADMITTED if refused else "/"), name
        assert browser.get(FEED).status_code == (401 if refused and READS in switched else 200)
        if name == "inside":
            role = browser.get("/api/auth/me").json["role"]
            assert role == ("reviewer" if GROUPS in switched else "member")


def passwords(app: Flask, world: World, switched: set[str]) -> None:
    """Passwords open accounts of the domains where they are on, and these read once their address is confirmed."""
    off, browser = PASSWORDS in switched, Browser(app)
    for email, in_domains in (("eve@evil.example", False), ("eve@example.org", True)):
        answer = browser.post("/api/auth/register", {"username": "eve", "email": email, "password": PASSWORD})
        if off:
            assert (answer.status_code, answer.json["code"]) == (403, "passwords_off")
        elif DOMAINS in switched and not in_domains:
            assert [each["pointer"] for each in answer.json["errors"]] == ["#/email"]
        else:
            assert answer.status_code == 201
            break
    login = Browser(app).post("/api/auth/login", {"login": "owner", "password": PASSWORD})
    assert login.status_code == (403 if off else 200)
    if not off:
        waits = DOMAINS in switched
        assert browser.get("/api/auth/tokens").status_code == (403 if waits else 200)
        assert browser.get("/api/projects").status_code == (403 if waits and READS in switched else 200)
        with app.app_context():
            confirmed = update(User).where(User.username == "eve").values(email_verified_at=now())
            transaction(lambda: db.session.execute(confirmed))
        assert (browser.get("/api/auth/tokens").status_code, browser.get("/api/projects").status_code) == (200, 200)


def ends(app: Flask, provider: LyingProvider, switched: set[str]) -> None:
    """Sessions end at their age, keys rest after thirty days, and both end with the group at the next sign-in."""
    person = "inside", "inside@example.org"
    browser, _ = sign_in(app, provider, *person, "Staff")
    feed = f"{FEED}?key={browser.post('/api/auth/feed-key').json['key']}"
    by_link = Browser(app, session_of(app, "owner"))
    grow_old(app, hours=7.9)
    assert (browser.signed_in(), by_link.signed_in()) == (True, True)
    grow_old(app, hours=8.1)
    assert (browser.signed_in(), by_link.signed_in()) == (HOURS not in switched, True)
    assert Api(app).get(feed).status_code == 200
    grow_old(app, days=30.1)
    assert [Api(app).get(feed).status_code for _ in range(2)] == [401, 401]
    again, where = sign_in(app, provider, *person, "Staff")
    assert (where, again.signed_in(), Api(app).get(feed).status_code) == ("/", True, 200)
    left, where = sign_in(app, provider, *person, "Others")
    gone = GROUPS in switched
    assert (where, left.signed_in()) == (NOT_ADMITTED if gone else "/", not gone)
    assert (again.signed_in(), Api(app).get(feed).status_code) == ((False, 401) if gone else (True, 200))


def session_of(app: Flask, username: str) -> str | None:
    """The cookie of who has just signed in by a link, which every combination has."""
    command = app.test_cli_runner(catch_exceptions=False).invoke(args=["users", "sign-in-link", username])
    [token] = re.findall(r"token=(\S+)", command.stdout)
    browser = Browser(app)
    assert browser.post("/sign-in/link", data={"token": token}).status_code == 303
    return browser.cookie
