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
OFFERED = ("/api/fields", "/submit", "/mine/<id:project_id>/edit")  # they name the choices, to whoever fills them in


class Hidden:
    """A live project with values for reviewers and with others that wait, and one in the queue."""

    def __init__(self, app: Flask, world: World, admin: Api, ada: Api) -> None:
        hidden = {"audience": "reviewers", "search": True, "material": True}
        define(admin, {**OTHERS[0], **hidden}, {**LICENSE, **hidden, "in_list": True})
        self.app, self.world = app, world
        self.path = submit(ada, admin, team=SHOWN, license="gpl")
        changed = {"fields": {"team": WAITING, "license": "mit"}, "title": "Lamp II"}
        assert ada.put(self.path, changed).status_code == 200
        other = {**PROJECT, "url": "https://b.example/", "fields": {"team": QUEUED}}
        self.live, self.queued = ada.get(self.path).json["id"], ada.post("/api/projects", other).json["id"]

    def caller(self, who: Any) -> Api:
        return Api(self.app, self.world.caller(who).token)

    def addresses(self, rule: str) -> Iterator[str]:
        values = {"<title>": "lamp", "<username>": "ada", "<slug>": "tools", "<field:field>": "team"}
        values |= {"<username:username>": "ada", "<slug:slug>": "tools", "<published>": "2026"}
        for number in (self.live, self.queued) if "<id:project_id>" in rule else (self.live,):
            found = {**values, "<id:project_id>": str(number)}
            yield "".join(found.get(part, "1") if part[:1] == "<" else part for part in re.split("(<[^>]*>)", rule))

    def look(self, caller: Api, method: str, rule: str, address: str, **sent: Any) -> None:
        """Ask, and look for the values in the answer and its headers."""
        answer = caller.call(method, address, **sent)
        is_text = answer.is_json or (answer.mimetype or "text").startswith("text")
        said = f"{answer.headers} {answer.text if is_text else ''}"
        assert "hush-743" not in said, (address, said)
        assert rule.startswith(OFFERED) or '"gpl"' not in said, (address, said)

    def read(self, caller: Api) -> None:
        for rule in sorted({each.rule for each in routes(self.app) if each.method == "GET"}):
            for address in self.addresses(rule):
                self.look(caller, "GET", rule, address)
        for start in ("/api/projects", "/api/projects/facets", "/api/projects.atom", "/"):
            for query in QUERIES:
                self.look(caller, "GET", start, start + query)

    def write(self, who: Any) -> None:
        for route in routes(self.app):
            for address in self.addresses(route.rule) if route.method != "GET" else ():
                caller = self.caller(who)  # the one before may have signed out
                self.look(caller, route.method, route.rule, address, **sending(self.app, route, self.live))


def test_values_for_reviewers_leak_by_no_route(make_app: Any, world: World, admin: Api, ada: Api) -> None:
    hidden = Hidden(make_app(**ALL_ON), world, admin, ada)
    member, other, path = world.user(), world.reviewer("games"), hidden.path
    for caller in (Api(hidden.app), hidden.caller(member), hidden.caller(other)):
        hidden.read(caller)
        for query in ("hush", "gpl", "mit"):
            assert caller.get(f"/api/projects?q={query}").json["items"] == []
        assert caller.get(path).json["fields"] == {}
        assert caller.get("/api/projects/facets").json["fields"] == {}
        assert caller.get("/api/projects?field.license=gpl").status_code == 422
    Targets(world, other)  # who signs in there
    hidden.write(other)
    own = world.caller(world.reviewer("tools"))
    assert own.get(path.replace("/api", "/api/review")).json["fields"] == {"license": "gpl", "team": SHOWN}
    for caller in (ada, admin):
        assert caller.get(path).json["fields"] == {"license": "gpl", "team": SHOWN}
    for caller in (own, world.caller(member)):
        assert caller.get(path).json["fields"] == {}
    assert own.get(f"/api/review/projects/{hidden.queued}").json["fields"] == {"team": QUEUED}
    assert SHOWN in ada.get("/api/auth/me/export").text
    assert Api(hidden.app).get("/api/fields").json["items"] == []
    assert [each["name"] for each in world.caller(member).get("/api/fields").json["items"]] == ["team", "license"]
    assert admin.put(f"{FIELDS}/team", {"audience": "public"}).status_code == 200
    assert Api(hidden.app).get(path).json["fields"] == {"team": SHOWN}
