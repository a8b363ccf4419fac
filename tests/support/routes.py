"""Every route of the service, from its map, with targets and bodies that would do: for tests that walk all of them."""

import json
import re
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

from flask import Flask
from sqlalchemy import select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.http.validation import Upload
from directory.models import Delivery, Message, Session, Token
from directory.services.accounts import sessions
from directory.services.delivery.channels import Endpoint, Webhook
from directory.services.identity import Caller
from tests.support.extras import rows
from tests.support.factories import PASSWORD, World
from tests.support.lists import THIS_YEAR
from tests.support.pictures import RED

_numbers = count(1)

# Everything on that a setting can switch off: what is off is refused before the query and the body.
COMPANY = {
    "name": "company", "label": "Example Inc.", "issuer": "http://127.0.0.1:9", "client_id": "x", "client_secret": "y",
}  # fmt: skip
ALL_ON = {
    "MAIL_URL": "smtp://localhost", "MAIL_FROM": "directory@example.org", "OIDC_PROVIDERS": json.dumps([COMPANY]),
    "SITE_URL": "http://localhost", "REPORTS": "everybody", "APPEALS": "on", "LINK_CHECKS": "on",
}  # fmt: skip

# These end the credentials of all callers, those of a walk over all routes too.
ENDING = {"DELETE /api/admin/sessions", "DELETE /api/admin/tokens"}


class Route(NamedTuple):
    """A method on a path of the map."""

    method: str
    rule: str

    @property
    def name(self) -> str:
        return f"{self.method} {self.rule}"


def routes(app: Flask) -> list[Route]:
    """All of them, HEAD and OPTIONS left out."""
    rules = app.url_map.iter_rules()
    return sorted(Route(method, rule.rule) for rule in rules for method in rule.methods - {"HEAD", "OPTIONS"})


def unsafe(app: Flask) -> list[Route]:
    """Those of the API that write."""
    return [route for route in routes(app) if route.method != "GET" and not operation(app, route).page]


def forms(app: Flask) -> list[Route]:
    """Those that take a form of a page."""
    return [route for route in routes(app) if route.method != "GET" and operation(app, route).page]


def operation(app: Flask, route: Route) -> Any:
    """What the route's view takes and gives."""
    for rule in app.url_map.iter_rules():
        if rule.rule == route.rule and route.method in rule.methods:
            return app.view_functions[rule.endpoint].operation
    raise LookupError(route.name)


def body(route: Route, project_id: int) -> dict[str, Any] | None:
    """A body that the route takes; of a kind that can be sent again and again. None where it takes none."""
    number = next(_numbers)
    project = {"title": "New", "tagline": "A new thing", "url": f"https://example.com/{number}", "category": "tools"}
    person = {"username": f"new{number}", "email": f"new{number}@example.org", "password": PASSWORD}
    for_both = {
        "PUT /projects/<id:project_id>/reject": {"reason": "Not yet."},
        "PUT /projects/<id:project_id>/unpublish": {"reason": "Not any more."},
        "PUT /projects/<id:project_id>/request-changes": {"message": "What does it do?"},
        "POST /projects/decisions": {"decision": "approve", "items": [{"id": project_id}]},
    }
    short = Route(route.method, re.sub("^/api/(admin|review)", "", route.rule)).name
    return for_both.get(short) or {
        "POST /api/projects": project,
        "PUT /api/projects/<id:project_id>": {"tagline": f"Changed {number}"},
        "POST /api/admin/users/decisions": {"decision": "suspend", "ids": [10**9]},
        "PUT /api/admin/users/<id:user_id>": {"status": "suspended", "unpublish": True, "reason": "Spam."},
        "POST /api/admin/categories": {"slug": f"new-{number}", "name": "New"},
        "PUT /api/admin/categories/<slug:slug>": {"description": f"Changed {number}"},
        "POST /api/projects/<id:project_id>/messages": {"text": f"Words {number}"},
        "POST /api/review/projects/<id:project_id>/messages": {"text": f"Words {number}"},
        "PUT /api/projects/<id:project_id>/messages/read": {"up_to": number},
        "POST /api/auth/register": person,
        "POST /api/markdown": {"text": "**New**"},
        "POST /api/auth/login": {"login": "login-target", "password": PASSWORD},
        "PUT /api/auth/me": {"email": f"changed{number}@example.org", "current_password": PASSWORD},
        "DELETE /api/auth/me": {"current_password": "another password"},
        "POST /api/auth/tokens": {"name": "new"},
        "POST /api/auth/password/forgot": {"login": "login-target"},
        "POST /api/auth/password/reset": {"token": "t" * 43, "password": PASSWORD},
        "POST /api/auth/email/verify": {"token": "t" * 43},
        **rows("bodies"),
    }.get(route.name)


def form(route: Route) -> dict[str, str]:
    """The fields of a form that the route takes; where they would end an account, with a wrong password."""
    number = next(_numbers)
    url = f"https://example.com/form{number}"
    project = {"title": "New", "tagline": "A new thing", "url": url, "category": "tools"}
    return {
        "POST /sign-in": {"login": "login-target", "password": PASSWORD},
        "POST /sign-up": {"username": f"by-form{number}", "email": f"f{number}@example.org", "password": PASSWORD},
        "POST /forgot": {"login": "login-target"},
        "POST /reset": {"token": "t" * 43, "password": PASSWORD},
        "POST /verify": {"token": "t" * 43},
        "POST /mail-off": {"token": "1-x"},
        "POST /language": {"language": "en"},
        "POST /sign-in/link": {"token": "t" * 43},
        "POST /votes/<id:project_id>": {"vote": "cast"},
        "POST /account/email": {"email": f"form{number}@example.org", "current_password": PASSWORD},
        "POST /account/notices": {"notify": "true"},
        "POST /account/username": {"username": f"renamed{number}"},
        "POST /account/password": {"current_password": "another password", "password": f"{PASSWORD}{number}"},
        "POST /account/delete": {"current_password": "another password", "sure": "true"},
        "POST /account/tokens": {"name": "new"},
        "POST /submit": {**project, "another": "true"},
        "POST /mine/<id:project_id>": {"text": f"Words {number}"},
        "POST /mine/<id:project_id>/edit": {**project, "version": "1"},
        **rows("forms"),
    }.get(route.name, {})


def sending(app: Flask, route: Route, project_id: int) -> dict[str, Any]:
    """What a request to the route sends: a form where it takes one, else the body as JSON."""
    view = operation(app, route)
    if route.method != "GET" and view.page:
        return {"data": form(route)}
    if isinstance(taken := view.body, Upload):
        query = {"query_string": {"alt": "A red square"}} if "alt" in view.query.fields else {}
        return {"data": RED, "content_type": taken.media_types[0], **query}
    return {"json": body(route, project_id)}


# What has to stand in the query.
QUERIES = {"/api/projects/counts": "?owner=me", "/api/projects/check": "?title=New"}


class Targets:
    """Makes what the parameters of paths name, again each time: an earlier request may have changed or deleted it."""

    def __init__(self, world: World, owner: Caller) -> None:
        self.world, self.owner, self.latest = world, owner, 0
        world.user("login-target")

    def path(self, rule: str, status: str = "live") -> tuple[str, int]:
        """The rule with its parameters filled in, and the id of the project where it has one, else 1."""
        project_id = 1
        rule += QUERIES.get(rule, "")
        for parameter, value in self._values(rule, status):
            rule = rule.replace(parameter, str(value))
            if parameter == "<id:project_id>":
                project_id = value
        return rule, project_id

    def _values(self, rule: str, status: str) -> Iterator[tuple[str, Any]]:
        makers = {
            "<id:project_id>": lambda: self.project(
                "rejected" if "appeal" in rule else status,
                revised="revision" in rule or "withdraw" in rule,
                reported="settle" in rule,
                appealed=rule.startswith("/api/review") and "appeal" in rule,
            ),
            "<id:user_id>": lambda: self.world.user().id,
            "<username:username>": lambda: self.world.user().username,
            "<slug:slug>": lambda: self.world.category(f"category-{next(_numbers)}"),
            "<id:picture_id>": self.picture,
            "<id:message_id>": self.message,
            "<id:rule_id>": self.world.rule,
            "<id:reply_id>": self.world.reply,
            "<field:field>": self.world.field,
            "<id:session_id>": self.session,
            "<id:token_id>": self.token,
            "<id:delivery_id>": self.delivery,
            "<id:number>": lambda: 1,
            "<endpoint>": self.endpoint,
            "<provider>": lambda: "company",
            "<id:identity_id>": lambda: 1,
            "<id:passkey_id>": lambda: 1,
            "<version>": lambda: "none",
            "<name>": lambda: "none.css",
            "<code>": lambda: "not_found",
            "<token>": lambda: "1-x",
            "<username>": lambda: "login-target",
            "<slug>": self.world.category,
            "<tag>": self.tag,
            "<published>": lambda: THIS_YEAR,
            "<path:form>": lambda: "email",
            "<title>": lambda: self.world.stored(self.latest)["slug"],
        }
        for parameter, make in makers.items():
            if parameter in rule:
                yield parameter, make()

    def project(self, status: str, *, revised: bool = False, reported: bool = False, appealed: bool = False) -> int:
        """A project of the owner; the `latest`. A live one has changes that wait for review if `revised`."""
        self.latest = self.world.project(self.owner, status)
        if revised and status == "live":
            self.world.revise(self.latest, self.owner, title="Revised")
        if reported:
            self.world.report(self.latest)
        if appealed:
            self.world.appeal(self.latest, self.owner)
        return self.latest

    def picture(self) -> int:
        """A picture of the latest project."""
        return int(self.world.picture(self.latest)["id"])

    def message(self) -> int:
        """An entry in a thread of the owner."""
        self.project("live")  # its approval
        with self.world.app.app_context():
            return int(db.session.scalar(select(db.func.max(Message.id))))

    def tag(self) -> str:
        """A tag of a live project."""
        self.world.project(tags=["used"])
        return "used"

    def session(self) -> int:
        """A session of the owner."""
        with self.world.app.app_context():
            transaction(lambda: sessions.begin(self.owner.id, user_agent=""))
            return int(db.session.scalar(select(db.func.max(Session.id))))

    def token(self) -> int:
        """A token of the owner, who may have as many as the rules allow."""
        row = Token(user_id=self.owner.id, name="target", token_hash=sessions.digest(f"target{next(_numbers)}"))
        with self.world.app.app_context():
            return int(transaction(lambda: db.session.add(row) or db.session.flush() or row.id))

    def endpoint(self) -> str:
        """An endpoint that wants no events."""
        configured: list[Endpoint] = self.world.app.extensions["webhooks"]
        configured[:] = [Webhook("target", "https://example.org/", "slack", frozenset())]
        return configured[0].name

    def delivery(self) -> int:
        """A delivery."""
        name = f"msg_{next(_numbers)}"
        with self.world.app.app_context():
            row = Delivery(webhook_id=name, event="project.approved", endpoint="example.org", payload="{}")
            return int(transaction(lambda: db.session.add(row) or db.session.flush() or row.id))
