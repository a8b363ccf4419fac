"""What each route answers under settings that refuse more: the OpenAPI document names every refusal."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from tests.support.factories import Api, World
from tests.support.routes import ENDING, Route, Targets, routes, sending

DOCUMENT = json.loads((Path(__file__).resolve().parents[2] / "docs" / "openapi.json").read_text())
PROBLEM = "application/problem+json"
MAIL = {"MAIL_URL": "smtp://localhost", "MAIL_FROM": "directory@example.org"}
TIERS = ("READ", "WRITE", "ADMIN", "AUTH", "VOTING", "SUBMISSION", "MESSAGES", "REPORTS")
SETTINGS: list[dict[str, str]] = [
    {},
    {"REQUIRE_PASSKEY": "admins"},
    {"REQUIRE_VERIFIED_EMAIL": "vote", **MAIL},
    {"REGISTRATION_OPEN": "false"},
    {"PASSWORDS": "off", **MAIL},
    {"READ_ONLY": "true"},
    {"READS": "members"},
    {"SELF_REVIEW": "refuse", "REPORTS": "members", "APPEALS": "on", "APPROVALS_REQUIRED": "2"},
    {"RATELIMIT_ENABLED": "true", **{f"RATELIMIT_{tier}": "1 per hour" for tier in TIERS}},
]


def documented(method: str, rule: str, status: int) -> set[str]:
    """The codes that the document names for a route and a status."""
    answer = DOCUMENT["paths"][path_of(rule)][method.lower()]["responses"].get(str(status), {})
    if "$ref" in answer:
        answer = DOCUMENT["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    return set(answer.get("content", {}).get(PROBLEM, {}).get("examples", {}))


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: next(iter(settings), "defaults"))
def test_the_document_names_every_refusal_whatever_the_settings(
    app: Flask, make_app: Any, world: World, settings: dict[str, str]
) -> None:
    owner = world.admin("ada") if "SELF_REVIEW" in settings else world.user("ada")
    targets, tokens = Targets(world, owner), [world.caller(world.admin()).token, world.caller(owner).token, None]
    strict, seen, missing = make_app(**settings), set(), []
    for route in routes(app):
        # It would end the tokens that all of this is asked with.
        if not is_in_document(route) or route.name in ENDING:
            continue
        path, project_id = targets.path(route.rule, "pending")
        for token in tokens:
            answer = Api(strict, token).call(route.method, path, **sending(app, route, project_id))
            if answer.status_code >= 400 and answer.mimetype == PROBLEM:
                code = answer.json["code"]
                seen.add(code)
                if code not in documented(route.method, route.rule, answer.status_code):
                    missing.append((route.method, route.rule, answer.status_code, code))
    assert missing == []
    asked = {
        "REQUIRE_PASSKEY": "passkey_required",
        "READ_ONLY": "read_only",
        "REGISTRATION_OPEN": "registration_closed",
        "PASSWORDS": "passwords_off",
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
