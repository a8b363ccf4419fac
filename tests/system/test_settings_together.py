"""Settings in combination: each route answers as it does by the defaults, or as a setting demands.

Twelve combinations of eleven settings, one of them a pair, have any two of them in all four ways (Plackett and Burman,
Biometrika 1946).
"""

from typing import Any

import pytest
from flask import Flask

from directory.extensions import limiter
from tests.support.factories import Api, World
from tests.support.pairwise import assert_pairwise
from tests.support.routes import ENDING, Route, Targets, routes, sending

# How each differs from what the tests run with otherwise; the limits are too high to refuse anything here.
SETTINGS = (
    {"RATELIMIT_ENABLED": "true"},
    {"REDIS_URL": "redis://127.0.0.1:1/0"},  # where none answers
    {"RATELIMIT_READ": "9999 per hour"},
    {"METRICS_ENABLED": "true"},
    {"READ_ONLY": "true"},
    {"REGISTRATION_OPEN": "false"},
    {"CORS_ORIGINS": "https://app.example.com"},
    {"TRUSTED_PROXIES": "1"},
    {"REVIEW_ON_EDIT": "always"},
    {"WEBHOOK_URL": "https://hooks.example.com/here", "WEBHOOK_SECRET": "whsec_" + "MDEyMzQ1Njc4OWFi" * 2},
    {"LOG_LEVEL": "ERROR", "RESPONSE_CACHE": "false"},
)
REGISTERING = {("POST", "/api/auth/register"), ("POST", "/sign-up")}
FAR = {f"RATELIMIT_{tier}": "9999 per hour" for tier in ("VOTING", "SUBMISSION", "AUTH", "WRITE")}
FIRST = "++-+++---+-"
DESIGN = [*(FIRST[n:] + FIRST[:n] for n in range(11)), "-" * 11]


def chosen(row: str) -> dict[str, str]:
    """The settings of a combination."""
    switched = [setting for setting, sign in zip(SETTINGS, row, strict=True) if sign == "+"]
    return {name: value for setting in (FAR, *switched) for name, value in setting.items()}


def expected(usual: int, route: Route, settings: dict[str, str]) -> int:
    """The status that a route has by these settings, where it has the `usual` one by the defaults."""
    if "READ_ONLY" in settings and route.method != "GET":
        return 503
    if "REGISTRATION_OPEN" in settings and (route.method, route.rule) in REGISTERING:
        return 403
    if "METRICS_ENABLED" in settings and route.rule == "/metrics":
        return 200
    if "<endpoint>" in route.rule:  # the endpoint that is tried is one of the first application alone
        return 404
    return usual


def statuses(app: Flask, targets: Targets, token: str) -> dict[Route, int]:
    """What each route answers an administrator, in the order of the map."""
    found = {}
    for route in routes(app):
        if route.name in ENDING:
            continue
        path, project_id = targets.path(route.rule, "live" if "upvote" in route.rule else "pending")
        answer = Api(app, token).call(route.method, path, **sending(app, route, project_id))
        found[route] = answer.status_code
    return found


def test_the_design_has_any_two_settings_in_all_four_combinations() -> None:
    assert_pairwise(DESIGN, 11)


@pytest.mark.slow
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)  # on either, settings decide above the database
@pytest.mark.parametrize("row", DESIGN)
def test_every_route_answers_as_by_the_defaults_or_as_a_setting_demands(
    app: Flask, make_app: Any, world: World, monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    settings, targets = chosen(row), Targets(world, world.user())
    token = world.caller(world.admin()).token
    usual = statuses(app, targets, token)
    assert not [route.name for route, status in usual.items() if status >= 500]
    monkeypatch.setattr(limiter, "_storage", None)  # which an application before this one has left there
    now = statuses(make_app(**settings), targets, token)
    wanted = {route: expected(status, route, settings) for route, status in usual.items()}
    assert {route.name: (status, wanted[route]) for route, status in now.items() if status != wanted[route]} == {}
