"""What a setting switches off is refused after the caller's access, and before the query and the body are read."""

import sys
from typing import Any

import pytest
from flask import Flask

from tests.support.extras import rows
from tests.support.factories import Api, World

ABSENT = (404, "not_found")
NO_PASSWORDS = (403, "passwords_off")
ANYBODY, MEMBER, OWNER, REVIEWER = "anybody", "member", "owner", "reviewer"  # who could use a route
# Every route of the API that may be switched off, who could use it, and how it is refused.
OFF: dict[str, tuple[str, tuple[int, str]]] = {
    "POST /api/auth/register": (ANYBODY, NO_PASSWORDS),
    "POST /api/auth/login": (ANYBODY, NO_PASSWORDS),
    "POST /api/auth/password/forgot": (ANYBODY, NO_PASSWORDS),
    "POST /api/auth/password/reset": (ANYBODY, NO_PASSWORDS),
    "POST /api/auth/email/verify": (ANYBODY, ABSENT),
    "POST /api/auth/email/verification": (MEMBER, ABSENT),
    "POST /api/auth/notifications/<token>": (ANYBODY, ABSENT),
    **rows("switched_off", sys.modules[__name__]),
}
# Those who may not use a route of the others are refused as if it were on.
REFUSED = {MEMBER: (401,), OWNER: (401, 404), REVIEWER: (401, 403)}


@pytest.fixture
def off(make_app: Any, world: World) -> Flask:
    """The service with everything off that a setting can switch off; `PASSWORDS` is set past the check of the start."""
    app: Flask = make_app(CLAIM_MINUTES="0", REPORTS="off", APPEALS="off")
    app.config |= {"PASSWORDS": "off", "APP_ENV": "production"}
    return app


def routes(app: Flask) -> dict[str, Any]:
    """The operations that may be switched off, by method and path."""
    found = {}
    for rule in app.url_map.iter_rules():
        spec = app.view_functions[rule.endpoint].operation  # type: ignore[attr-defined]
        if spec.when is not None:
            found |= {f"{method} {rule.rule}": spec for method in {*(rule.methods or ())} - {"HEAD", "OPTIONS"}}
    return found


def send(app: Flask, by: Api | None, route: str, project: int) -> Any:
    method, path = route.split(" ")
    path = path.replace("<id:project_id>", str(project)).replace("<id:passkey_id>", "1")
    for name in ("<id:identity_id>", "<token>", "<provider>"):
        path = path.replace(name, "1")
    headers = {"Content-Type": "application/json"}
    return Api(app, by and by.token).call(method, f"{path}?unknown=1", headers=headers, data="{")


def test_each_route_of_what_is_off_is_refused_after_access_and_before_query_and_body(off: Flask, world: World) -> None:
    ada = world.user("ada")
    callers: dict[str, Api | None] = {
        ANYBODY: None, MEMBER: world.caller(world.user()), OWNER: world.caller(ada),
        REVIEWER: world.caller(world.reviewer()),
    }  # fmt: skip
    project, rejected = world.project(ada), world.project(ada, "rejected")
    whole = routes(off)
    assert {route for route, spec in whole.items() if not spec.page} == OFF.keys()
    assert [route for route, spec in whole.items() if spec.cache.tags is not None] == []
    for route, (who, outcome) in OFF.items():
        target = rejected if "appeal" in route else project
        answer = send(off, callers[who], route, target)
        assert (answer.status_code, answer.json["code"]) == outcome, route
        if who != ANYBODY:
            others = [None, callers[MEMBER]] if who in {OWNER, REVIEWER} else [None]
            codes = tuple(send(off, each, route, target).status_code for each in others)
            assert codes == REFUSED[who], route


def test_a_closed_registration_and_a_site_without_mail_are_refused_before_the_body(make_app: Any) -> None:
    app = make_app(REGISTRATION_OPEN="false")
    codes = {"/api/auth/register": (403, "registration_closed"), "/api/auth/password/forgot": ABSENT}
    for path, outcome in codes.items():
        answer = Api(app).post(path, {"wrong": 1})
        assert (answer.status_code, answer.json["code"]) == outcome


def test_the_forms_of_what_is_off_are_refused_as_the_routes_are(off: Flask, world: World) -> None:
    own = {route for route, spec in routes(off).items() if spec.page}
    assert {"POST /sign-in", "POST /sign-up", "POST /forgot", "POST /reset"} <= own
    assert Api(off).post("/sign-in", {}).status_code == 403
