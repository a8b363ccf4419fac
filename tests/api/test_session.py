"""The first request of a page: the caller, and what the site allows."""

from typing import Any

import pytest

from directory.services.catalog.fields import FIELDS, MATERIAL, NAMES
from tests.conftest import Statements
from tests.support import extras
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import PASSWORD, Api, World

PATH = "/api/session"
ANYBODY = {
    "user": None,
    "site": {"name": "Project Directory", "url": None},
    "registration_open": True,
    "read_only": False,
    "reads": "public",
    "password_reset": False,
    "passkeys": "passkeys" in extras.ON,
    "providers": [],
    "language": None,
    "languages": [{"tag": "en", "name": "English", "dir": "ltr"}],
}


def test_an_anonymous_caller_gets_the_site_alone(api: Api) -> None:
    answer = api.get(PATH)
    assert (answer.status_code, answer.json) == (200, ANYBODY)
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert "Set-Cookie" not in answer.headers


def test_a_signed_in_caller_gets_their_account_by_token_and_by_cookie(app: Any, world: World) -> None:
    ada = world.user("ada")
    caller = world.caller(ada)
    answer = caller.get(PATH)
    reviewed = [field.name for field in FIELDS if field.is_material]
    assert answer.json == {
        **ANYBODY,
        "user": {**caller.get("/api/auth/me").json, "unread": 0},
        "reviewed_fields": reviewed,
    }
    assert answer.json["user"]["email"] == "ada@example.org"
    assert answer.headers["Cache-Control"] == "private, no-store"
    browser = Browser(app)
    browser.post("/api/auth/login", {"login": "ada", "password": PASSWORD})
    assert browser.get(PATH).json == answer.json
    browser.post("/api/auth/logout")
    assert browser.get(PATH).json == ANYBODY


def test_a_dead_cookie_is_anonymous_and_a_bad_token_is_refused(api: Api) -> None:
    assert api.get(PATH, headers={"Cookie": f"{COOKIE}={'x' * 43}"}).json == ANYBODY
    for token in ("pds_nothing", ""):
        answer = api.get(PATH, headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.json["code"]) == (401, "unauthenticated")
    unknown = api.get(f"{PATH}?x=1")
    assert (unknown.status_code, unknown.json["errors"][0]["parameter"]) == (422, "x")


def test_the_settings_are_those_of_the_site(make_app: Any) -> None:
    settings = {"SITE_NAME": "Makers", "SITE_URL": "https://makers.example", "REGISTRATION_OPEN": "false"}
    answer = Api(make_app(**settings, READ_ONLY="true")).get(PATH)
    site = {"name": "Makers", "url": "https://makers.example"}
    assert answer.json == {**ANYBODY, "site": site, "registration_open": False, "read_only": True}


def test_it_names_the_fields_whose_changes_are_reviewed(make_app: Any, world: World) -> None:
    member, admin = world.caller(world.user()).token, world.caller(world.admin()).token
    for setting, number in (("never", 0), ("material", len(MATERIAL)), ("always", len(NAMES))):
        app = make_app(REVIEW_ON_EDIT=setting)
        assert len(Api(app, member).get(PATH).json["reviewed_fields"]) == number
        assert Api(app, admin).get(PATH).json["reviewed_fields"] == []


@pytest.mark.parametrize("signed_in", [False, True])
def test_it_takes_a_statement_for_the_credentials_the_account_and_what_is_unread(
    world: World, api: Api, statements: Statements, signed_in: bool
) -> None:
    caller = world.caller(world.user()) if signed_in else api
    caller.get(PATH)  # the token's first use is written
    statements.clear()
    caller.get(PATH)
    assert len(statements) == (3 if signed_in else 0)
