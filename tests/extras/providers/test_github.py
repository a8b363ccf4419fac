"""Signing in by GitHub, which speaks OAuth without OpenID."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask

from tests.support.browsers import Browser
from tests.support.factories import Api
from tests.support.lying_provider import CLIENT_ID, CLIENT_SECRET, LyingProvider, back, walk

JSON = {"Accept": "application/json"}


@pytest.fixture
def github() -> Any:
    with LyingProvider() as one:
        yield one


@pytest.fixture
def app(make_app: Any, github: LyingProvider) -> Flask:
    settings = {"GITHUB_CLIENT_ID": CLIENT_ID, "GITHUB_CLIENT_SECRET": CLIENT_SECRET}
    return make_app(**settings, GITHUB_BASE_URL=f"{github.issuer}/")  # type: ignore[no-any-return]


@pytest.fixture
def browser(app: Flask) -> Browser:
    return Browser(app)


def test_it_is_a_provider_like_the_others(app: Flask, browser: Browser, github: LyingProvider) -> None:
    assert Api(app).get("/api/session").json["providers"] == [{"name": "github", "label": "GitHub"}]
    location = browser.get("/api/auth/providers/github").headers["Location"]
    asked = parse_qs(urlsplit(location).query)
    assert location.startswith(f"{github.issuer}/login/oauth/authorize?")
    assert asked["scope"] == ["read:user user:email"]
    assert "nonce" not in asked
    assert back(browser, github.authorize(location), "github").headers["Location"] == "/"
    me = browser.get("/api/auth/me").json
    assert (me["username"], me["email"], me["email_verified"]) == ("ada", "ada@example.org", True)
    [identity] = browser.get("/api/auth/me/export").json["identities"]
    assert (identity["issuer"], identity["subject"]) == (github.issuer, "583231")


def test_an_address_that_is_not_confirmed_there_is_not_confirmed_here(browser: Browser, github: LyingProvider) -> None:
    github.emails = [
        "x",
        {"email": "other@example.org", "primary": False, "verified": True},
        {"email": "ada@example.org", "primary": True, "verified": False},
    ]
    assert walk(browser, github, "github").headers["Location"] == "/"
    assert browser.get("/api/auth/me").json["email_verified"] is False


@pytest.mark.parametrize("emails", [[], [{"email": "ada@example.org", "verified": True}]])
def test_without_a_primary_address_no_account_is_opened(browser: Browser, github: LyingProvider, emails: Any) -> None:
    github.emails = emails
    location = browser.get("/api/auth/providers/github").headers["Location"]
    answer = back(browser, github.authorize(location), "github", headers=JSON)
    assert (answer.status_code, answer.json["reason"]) == (403, "no_address")


@pytest.mark.parametrize("number", [None, "7", True, 0, -1, 1.5])
def test_a_user_without_a_number_is_refused(browser: Browser, github: LyingProvider, number: Any) -> None:
    github.claims = {"id": number}
    location = browser.get("/api/auth/providers/github").headers["Location"]
    answer = back(browser, github.authorize(location), "github", headers=JSON)
    assert (answer.status_code, answer.json["reason"]) == (403, "no_subject")


@pytest.mark.parametrize(
    ("token", "status", "reason"),
    [(b'{"error": "bad_verification_code"}', 403, "code_refused"), (b"{}", 403, "no_token"), (b"x", 502, "no_json")],
)
def test_a_code_that_is_refused_signs_nobody_in(
    browser: Browser, github: LyingProvider, token: bytes, status: int, reason: str
) -> None:
    github.script["/login/oauth/access_token"] = lambda handler: handler.reply(200, token)
    location = browser.get("/api/auth/providers/github").headers["Location"]
    answer = back(browser, github.authorize(location), "github", headers=JSON)
    assert (answer.status_code, answer.json["reason"]) == (status, reason)
    assert not browser.signed_in()


def test_whoever_cancels_is_told_so(browser: Browser, github: LyingProvider) -> None:
    location = browser.get("/api/auth/providers/github").headers["Location"]
    state = github.authorize(location)["state"]
    answer = back(browser, {"state": state, "error": "access_denied"}, "github", headers=JSON)
    assert (answer.status_code, answer.json["code"]) == (403, "sign_in_cancelled")
