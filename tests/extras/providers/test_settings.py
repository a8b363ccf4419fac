"""The settings of providers: complete or a line that names what is wrong; no message repeats a secret."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from flask import Flask

import config
from config import ConfigError
from directory.extras.providers import extra
from directory.services import health
from tests.conftest import ENVIRONMENT, Database
from tests.support.lying_provider import LyingProvider

PLANTED = "hunter2-on-the-moon"
GIVEN = {
    "name": "company",
    "label": "Example Inc.",
    "issuer": "https://login.example.org/realms/x",
    "client_id": "directory",
    "client_secret": PLANTED,
}
SITE = "https://directory.example.org"


def load(**environ: str) -> list[Any]:
    found: list[Any] = config.load(
        {"SECRET_KEY": "4b6f1d0c9e2a5f7783b1c6d8e0f2a4957c1b3d5e", "DATABASE_URL": "sqlite:////srv/x.db", **environ}
    )["PROVIDERS"]
    return found


def refusal(**environ: str) -> str:
    """The line that stops the start."""
    with pytest.raises(ConfigError) as caught:
        load(**environ)
    line = str(caught.value.code)
    assert "\n" not in line
    assert PLANTED not in line
    return line


def test_there_are_none_unless_they_are_named() -> None:
    assert load() == load(OIDC_PROVIDERS=" ", GITHUB_CLIENT_ID="") == load(OIDC_PROVIDERS="[]") == []


def test_a_provider_is_taken_as_it_is_given() -> None:
    assert load(OIDC_PROVIDERS=json.dumps([GIVEN])) == [GIVEN]
    roles = {"claim": "realm_access.roles", "admin": ["a"], "member": ["x y", "/z"]}
    assert load(OIDC_PROVIDERS=json.dumps([{**GIVEN, "roles": roles}]))[0]["roles"] == roles
    asking = {**GIVEN, "scope": "groups urn:zitadel:iam:org:projects:roles"}
    assert load(OIDC_PROVIDERS=json.dumps([asking])) == [asking]
    entra = {**GIVEN, "email_claim": "preferred_username", "trusts_email": True}
    assert load(OIDC_PROVIDERS=json.dumps([entra])) == [entra]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("{", "is not valid JSON"),
        ("[" * 9999, "is not valid JSON"),
        ("{}", "list of objects"),
        ("[1]", "list of objects"),
        ("[{}]", "must have the members"),
        (json.dumps([{**GIVEN, "scopes": "x"}]), "and no others"),
        *(
            (json.dumps([{**GIVEN, "scope": wrong}]), "scope must be words")
            for wrong in ("", " ", " a", "a  b", "a\nb", 'a"b', "a\\b", "é", "x" * 501, ["groups"], None)
        ),
        (json.dumps([{**GIVEN, "email_claim": ""}]), "email_claim must be the name of a claim"),
        (json.dumps([{**GIVEN, "email_claim": "a b"}]), "email_claim must be the name of a claim"),
        (json.dumps([{**GIVEN, "email_claim": ["upn"]}]), "email_claim must be the name of a claim"),
        (json.dumps([{**GIVEN, "email_claim": "x" * 101}]), "email_claim must be the name of a claim"),
        (json.dumps([{**GIVEN, "trusts_email": "true"}]), "trusts_email must be true or false"),
        (json.dumps([{**GIVEN, "trusts_email": 1}]), "trusts_email must be true or false"),
        (json.dumps([{**GIVEN, "roles": []}]), "roles must be an object with claim"),
        (json.dumps([{**GIVEN, "roles": {"admin": ["a"]}}]), "roles must be an object with claim"),
        (json.dumps([{**GIVEN, "roles": {"claim": "groups", "owner": ["a"]}}]), "roles must be an object with claim"),
        (json.dumps([{**GIVEN, "roles": {"claim": "a b", "admin": ["a"]}}]), "the claim of roles must be"),
        (json.dumps([{**GIVEN, "roles": {"claim": "groups", "admin": "a"}}]), "must be a list of at most"),
        (json.dumps([{**GIVEN, "roles": {"claim": "groups", "admin": ["x"] * 101}}]), "must be a list of at most"),
        (json.dumps([{**GIVEN, "roles": {"claim": "groups", "admin": ["a", 1]}}]), "a group must be a text"),
        (json.dumps([{**GIVEN, "roles": {"claim": "groups", "admin": [""]}}]), "a group must be a text"),
        (json.dumps([{**GIVEN, "name": "local", "roles": {"claim": "g", "admin": ["a"]}}]), "must not be called local"),
        (json.dumps([{**GIVEN, "name": "A b"}]), "name must be 1 to 16"),
        (json.dumps([{**GIVEN, "name": 5}]), "name must be 1 to 16"),
        (json.dumps([{**GIVEN, "label": " "}]), "label must be one line"),
        (json.dumps([{**GIVEN, "label": "a\nb"}]), "label must be one line"),
        (json.dumps([{**GIVEN, "issuer": "login.example.org"}]), "an issuer must be an address"),
        (json.dumps([{**GIVEN, "issuer": 5}]), "an issuer must be an address"),
        (json.dumps([{**GIVEN, "issuer": "https://a.example?x=1"}]), "an issuer must be an address"),
        (json.dumps([{**GIVEN, "issuer": f"https://u:{PLANTED}@a.example"}]), "an issuer must be an address"),
        (json.dumps([{**GIVEN, "issuer": "http://login.example.org"}]), "https"),
        (json.dumps([{**GIVEN, "client_secret": ""}]), "client_id and client_secret must be"),
        (json.dumps([{**GIVEN, "client_secret": f"{PLANTED}é"}]), "client_id and client_secret must be"),
        (json.dumps([{**GIVEN, "client_id": None}]), "client_id and client_secret must be"),
        (json.dumps([GIVEN, {**GIVEN, "issuer": "https://b.example"}]), "the same name"),
        (json.dumps([GIVEN, {**GIVEN, "name": "other"}]), "the same issuer"),
        (json.dumps([GIVEN] * 11), "more than 10"),
    ],
)
def test_what_makes_no_sense_stops_the_start(value: str, says: str) -> None:
    line = refusal(OIDC_PROVIDERS=value)
    assert line.startswith("OIDC_PROVIDERS: ")
    assert says in line


def test_github_has_its_api_elsewhere_and_github_enterprise_below_itself() -> None:
    keys = {"GITHUB_CLIENT_ID": "id", "GITHUB_CLIENT_SECRET": PLANTED}
    [public] = load(**keys)
    assert (public["name"], public["issuer"], public["api"]) == (
        "github",
        "https://github.com",
        "https://api.github.com",
    )
    [own] = load(**keys, GITHUB_BASE_URL="https://git.example.org/")
    assert (own["issuer"], own["api"]) == ("https://git.example.org", "https://git.example.org/api/v3")


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({"GITHUB_CLIENT_ID": "id"}, "GITHUB_CLIENT_SECRET"),
        ({"GITHUB_CLIENT_SECRET": PLANTED}, "GITHUB_CLIENT_ID"),
        ({"GITHUB_CLIENT_ID": "é", "GITHUB_CLIENT_SECRET": PLANTED}, "GITHUB_CLIENT_ID"),
        ({"GITHUB_BASE_URL": "http://git.example.org"}, "GITHUB_BASE_URL"),
    ],
)
def test_github_needs_both_and_an_address_with_tls(environ: dict[str, str], names: str) -> None:
    assert refusal(**environ).startswith(f"{names}: ")


@pytest.mark.parametrize("changes", [{"name": "github"}, {"issuer": "https://github.com"}])
def test_no_other_provider_passes_for_github(changes: dict[str, str]) -> None:
    keys = {"GITHUB_CLIENT_ID": "id", "GITHUB_CLIENT_SECRET": PLANTED}
    assert refusal(OIDC_PROVIDERS=json.dumps([{**GIVEN, **changes}]), **keys).startswith("OIDC_PROVIDERS: ")


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({"OIDC_PROVIDERS": json.dumps([GIVEN])}, "OIDC_PROVIDERS"),
        ({"GITHUB_CLIENT_ID": "id", "GITHUB_CLIENT_SECRET": PLANTED}, "GITHUB_CLIENT_ID"),
    ],
)
def test_in_production_providers_need_the_address_of_the_site(environ: dict[str, str], names: str) -> None:
    line = refusal(**environ, APP_ENV="production")
    assert line.startswith("SITE_URL: ")
    assert names in line
    assert len(load(**environ, APP_ENV="production", SITE_URL=SITE)) == 1


def test_no_representation_of_a_provider_has_its_secret() -> None:
    keys = {"GITHUB_CLIENT_ID": "id", "GITHUB_CLIENT_SECRET": PLANTED}
    app = Flask("x")
    app.config |= {"PROVIDERS": load(OIDC_PROVIDERS=json.dumps([GIVEN]), **keys), "THREADS": 8}
    extra.init_app(app)
    found = app.extensions["providers"]
    assert list(found) == ["company", "github"]
    assert PLANTED not in repr(found)


@pytest.mark.parametrize(("is_configured", "loaded"), [(False, "[]"), (True, "['authlib', 'requests']")])
def test_what_signs_in_by_providers_is_imported_where_there_is_one(
    database: Database, is_configured: bool, loaded: str
) -> None:
    code = "import sys, wsgi; print(sorted({'authlib', 'requests'} & {*sys.modules}))"
    with LyingProvider() as provider:
        chosen = provider.environment if is_configured else {}
    environment = {**os.environ, **ENVIRONMENT, **chosen, "DATABASE_URL": database.url}
    root = health.MIGRATIONS.parent
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == (loaded, "")


@pytest.mark.parametrize("secret", ["changeme", "x" * 40])
def test_in_production_a_secret_that_anybody_would_guess_stops_the_start(secret: str) -> None:
    given = {"GITHUB_CLIENT_ID": "id", "GITHUB_CLIENT_SECRET": secret, "SITE_URL": SITE, "APP_ENV": "production"}
    assert refusal(**given).startswith("GITHUB_CLIENT_SECRET: is a placeholder")


@pytest.mark.parametrize("value", ["none", "-providers"])
def test_providers_that_are_off_are_no_way_in(value: str) -> None:
    given = {"GITHUB_CLIENT_ID": "id", "GITHUB_CLIENT_SECRET": PLANTED, "SIGNUP_DOMAINS": "example.org"}
    load(**given)
    assert refusal(**given, EXTRAS=value).startswith("SIGNUP_DOMAINS: set MAIL_URL or a provider")
