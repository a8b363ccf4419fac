"""Values for reviewers: who sees them, over every route that there is."""

import re
from collections.abc import Iterator
from typing import Any

from flask import Flask

from tests.extras.fields.test_fields import FIELDS, LICENSE, OTHERS, PROJECT, ada, admin, define, submit
from tests.support.factories import Api, World
from tests.support.routes import ALL_ON, Targets, routes, sending

__all__ = ["ada", "admin"]
SHOWN, WAITING, QUEUED = "hush-7431", "hush-7432", "hush-7433"
QUERIES = ("", "?q=hush", "?category=tools", "?owner=ada", "?status=live&sort=popular", "?limit=1")
OFFERED = {"/api/fields", "/submit", "/mine/<id:project_id>/edit"}  # they name the choices, to whoever fills them in


def test_values_for_reviewers_leak_by_no_route(make_app: Any, world: World, admin: Api, ada: Api) -> None:
    app: Flask = make_app(**ALL_ON)
    hidden = {"audience": "reviewers", "search": True}
    define(admin, {**OTHERS[0], **hidden}, {**LICENSE, **hidden, "in_list": True})
    path = submit(ada, admin, team=SHOWN, license="gpl")
    assert ada.put(path, {"fields": {"team": WAITING, "license": "mit"}, "title": "Lamp II"}).status_code == 200
    queued = ada.post("/api/projects", {**PROJECT, "url": "https://b.example/", "fields": {"team": QUEUED}}).json["id"]
    member, other = world.user(), world.reviewer("games")
    slug, number = ada.get(path).json["slug"], path.rpartition("/")[2]

    def addresses(rule: str) -> Iterator[str]:
        values = {"<title>": slug, "<username>": "ada", "<slug>": "tools", "<field:field>": "team"}
        values |= {"<username:username>": "ada", "<slug:slug>": "tools", "<published>": "2026"}
        for project_id in (number, queued):
            filled = {**values, "<id:project_id>": project_id}
            yield re.sub("<[^>]*>", lambda found: str(filled.get(found[0], 1)), rule)

    def look(answer: Any, rule: str, address: str) -> None:
        said = f"{answer.headers} {answer.text if answer.is_json or answer.mimetype.startswith('text') else ''}"
        assert not re.search("hush-743.", said.replace("q=hush", "")), (address, said)
        assert rule in OFFERED or '"gpl"' not in said, (address, said)

    for caller in (Api(app), *(Api(app, world.caller(each).token) for each in (member, other))):
        for rule in sorted({each.rule for each in routes(app) if each.method == "GET"}):
            for address in addresses(rule):
                look(caller.get(address), rule, address)
        for query in QUERIES:
            for start in ("/api/projects", "/api/projects/facets", "/api/projects.atom", "/"):
                look(caller.get(start + query), start, start + query)
        for query in ("hush", "gpl", "mit"):
            assert caller.get(f"/api/projects?q={query}").json["items"] == []
        assert caller.get(path).json["fields"] == {}
        assert caller.get("/api/projects/facets").json["fields"] == {}
        assert caller.get("/api/projects?field.license=gpl").status_code == 422
    Targets(world, member)  # who signs in there
    for route in routes(app):
        for who in (member, other) if route.method != "GET" else ():
            caller = Api(app, world.caller(who).token)  # the one before may have signed out
            for address in addresses(route.rule):
                look(caller.call(route.method, address, **sending(app, route, int(number))), route.rule, address)
    own = world.caller(world.reviewer("tools"))
    assert own.get(path.replace("/api", "/api/review")).json["fields"] == {"license": "gpl", "team": SHOWN}
    for caller in (ada, admin):
        assert caller.get(path).json["fields"] == {"license": "gpl", "team": SHOWN}
    for caller in (own, world.caller(member)):
        assert caller.get(path).json["fields"] == {}
    assert own.get(f"/api/review/projects/{queued}").json["fields"] == {"team": QUEUED}
    assert SHOWN in ada.get("/api/auth/me/export").text
    assert Api(app).get("/api/fields").json["items"] == []
    offered = [each["name"] for each in Api(app, world.caller(member).token).get("/api/fields").json["items"]]
    assert offered == ["team", "license"]
    assert admin.put(f"{FIELDS}/team", {"audience": "public"}).status_code == 200
    assert Api(app).get(path).json["fields"] == {"team": SHOWN}
