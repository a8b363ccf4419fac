"""What each route answers under settings that refuse more: the OpenAPI document names every refusal."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

import config
from settings import values
from tests.support.factories import Api, World
from tests.support.routes import COMPANY, ENDING, Route, Targets, routes, sending

DOCUMENT = json.loads((Path(__file__).resolve().parents[2] / "docs" / "openapi.json").read_text())
PROBLEM = "application/problem+json"
MAIL = {"MAIL_URL": "smtp://localhost", "MAIL_FROM": "directory@example.org"}
LIMITS = [each.name for each in config.SETTINGS if each.parse is values.ratelimit]
SETTINGS: list[dict[str, str]] = [
    {},
    {"REQUIRE_PASSKEY": "admins"},
    {"REQUIRE_VERIFIED_EMAIL": "vote", **MAIL},
    {"REGISTRATION_OPEN": "false"},
    {"PASSWORDS": "off", **MAIL},
    {"READ_ONLY": "true"},
    {"READS": "members"},
    {"SIGNUP_DOMAINS": "example.org", **MAIL},
    {"READS": "members", "SIGNUP_DOMAINS": "example.org", **MAIL},
    {"SITE_LANGUAGE": "de"},
    {"SITE_LANGUAGES": "en,de"},
    {"OIDC_PROVIDERS": json.dumps([COMPANY]), "SITE_URL": "http://localhost"},
    {"WEB_ENABLED": "false"},
    {"SELF_REVIEW": "refuse", "REPORTS": "members", "APPEALS": "on", "APPROVALS_REQUIRED": "2"},
    {"RATELIMIT_ENABLED": "true", **dict.fromkeys(LIMITS, "1 per hour")},
]


def documented(method: str, rule: str, status: int) -> dict[str, Any] | None:
    """What the document says of a route's answer with a status; None if it does not have it."""
    answer: dict[str, Any] | None
    answer = DOCUMENT["paths"][path_of(rule)][method.lower()]["responses"].get(str(status))
    if answer and "$ref" in answer:
        answer = DOCUMENT["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    return answer


def undocumented(route: Route, answer: Any) -> list[str]:
    """What an answer has that the document does not: its status, its code, or one of the headers of our answers."""
    found = documented(route.method, route.rule, answer.status_code)
    if found is None:
        return [f"{route.name}: {answer.status_code} {(answer.json or {}).get('code')}"]
    codes = {answer.json["code"]} if answer.mimetype == PROBLEM else set()
    named = {*found.get("content", {}).get(PROBLEM, {}).get("examples", {})}
    headers = {*dict(answer.headers)} & DOCUMENT["components"]["headers"].keys() - {*found["headers"]}
    return [f"{route.name}: {answer.status_code} {each}" for each in sorted((codes - named) | headers)]


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "-".join([*settings][:2]) or "defaults")
def test_the_document_has_every_status_code_and_header_whatever_the_settings(
    app: Flask, make_app: Any, world: World, settings: dict[str, str]
) -> None:
    owner = world.admin("ada") if "SELF_REVIEW" in settings else world.user("ada")
    world.change(unconfirmed := world.user(), must_verify=True, email_verified_at=None)
    tokens = [*(world.caller(each).token for each in (world.admin(), owner, unconfirmed)), None]
    targets = Targets(world, owner)
    strict, seen, missing = make_app(**settings), set(), []
    for route in routes(app):
        # It would end the tokens that all of this is asked with.
        if not is_in_document(route) or route.name in ENDING:
            continue
        path, project_id = targets.path(route.rule, "pending")
        for token in tokens:
            answer = Api(strict, token).call(route.method, path, **sending(app, route, project_id))
            missing += undocumented(route, answer)
            if answer.mimetype == PROBLEM:
                seen.add(answer.json["code"])
    assert sorted({*missing}) == []
    asked = {
        "REQUIRE_PASSKEY": "passkey_required",
        "READ_ONLY": "read_only",
        "REGISTRATION_OPEN": "registration_closed",
        "PASSWORDS": "passwords_off",
        "SIGNUP_DOMAINS": "email_not_verified",
        "SELF_REVIEW": "own_submission",
        "RATELIMIT_ENABLED": "rate_limited",
    }
    assert {code for name, code in asked.items() if name in settings} <= seen


def path_of(rule: str) -> str:
    """A rule as the document writes it."""
    return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule)


def is_in_document(route: Route) -> bool:
    """Whether a route is one of the API: pages and files are not in the document."""
    return route.method.lower() in DOCUMENT["paths"].get(path_of(route.rule), {})


def test_the_walk_covers_the_routes_of_the_document(app: Flask) -> None:
    walked = {(route.method.lower(), route.rule) for route in routes(app) if is_in_document(route)}
    assert len(walked) == sum(len(methods) for methods in DOCUMENT["paths"].values())
