"""Every public route over filled data: a new route has to be listed here, and is then held to all of these rules."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event

from directory.extensions import db
from directory.models import User
from directory.services.catalog import search_frequency
from tests.conftest import Statements
from tests.support.extras import rows
from tests.support.factories import PASSWORD, Api, World
from tests.support.lists import ORDERS, THIS_YEAR, by_each_filter

# The queries to try on each public route, and whether its answer is a list of rows. A route has no rows where its
# answer does not depend on the projects: an account, a probe, a document.
NARROWED = by_each_filter(status="live", category="tools", tag="a", owner="ada", q="project", published=THIS_YEAR)
LISTS = {
    "/api/projects": ["", *(f"?{each}" for each in (*(f"sort={each}" for each in ORDERS), *NARROWED))],
    "/api/projects.atom": [""],
    "/api/projects/facets": ["", "?category=tools", "?tag=a", "?owner=ada", "?q=project&category=tools"],
    "/api/projects/<id:project_id>/related": [""],
    "/api/categories": [""],
    "/api/tags": [""],
}
SINGLE = {"/api/projects/<id:project_id>": [""], "/api/users/<username:username>": [""]}
# These answer from constants, settings, the process or the caller alone, or are pages, which have tests of their own.
WITHOUT_ROWS = {
    "/", "/account/deleted", "/account/<path:form>",
    "/admin", "/admin/audit", "/admin/categories", "/admin/deliveries", "/admin/projects",
    "/admin/queue",
    "/admin/queue/<id:project_id>", "/admin/users", "/admin/users/<id:user_id>", "/api/docs",
    "/api/docs/<version>/<name>", "/api/openapi.json", "/api/problems", "/api/problems/<code>", "/api/session",
    "/assets/<name>", "/favicon.svg",
    "/favicon.ico", "/apple-touch-icon.png", "/manifest.webmanifest", "/opensearch.xml", "/.well-known/security.txt",
    "/.well-known/change-password", "/feed", "/rss", "/login", "/register", "/about", "/help", "/categories", "/tags",
    "/static/<path:name>",
    "/healthz", "/images/<name>.webp", "/metrics",
    "/p/<id:project_id>", "/p/<id:project_id>/<title>", "/readyz", "/reset",
    "/robots.txt", "/sitemap.xml", "/sitemap-<id:number>.xml",
    "/sitemap-lists.xml", "/users/<username>", "/verify", "/sign-in",
    "/sign-up", "/sign-in/link", "/forgot", "/mail-off",
    "/voted/<id:project_id>", "/api/auth/notifications/<token>", "/categories/<slug>", "/tags/<tag>",
    "/best", "/best/<published>", *rows("addresses"),
}  # fmt: skip


class Filled:
    """A directory in which every optional field of a project is set."""

    def __init__(self, world: World, size: int) -> None:
        self.world = world
        self.ada, self.admin = world.user("ada"), world.caller(world.admin())
        self.owner = world.caller(self.ada)
        self.projects = [self.add(n) for n in range(size)]

    def add(self, number: int, status: str = "live") -> int:
        """Add a project with every field, one tag that all share, and as many votes as its number plus one."""
        votes = number + 1 if status == "live" else 0
        return self.world.project(
            self.ada, status, votes, title=f"Project {number}", author="Armin", description="Reads files.",
            tags=["a", f"t{number}"], repository_url=f"https://example.org/{number}.git",
            logo_url=f"https://example.org/{number}.png",
        )  # fmt: skip

    def path(self, rule: str) -> str:
        return rule.replace("<id:project_id>", str(self.projects[0])).replace("<username:username>", "ada")

    def addresses(self) -> list[str]:
        """Every address of the routes that answer with rows."""
        return [self.path(rule) + query for rule, queries in (LISTS | SINGLE).items() for query in queries]


def public_reads(app: Flask) -> set[str]:
    """The rules of the routes that anyone may read."""
    views = [(rule, app.view_functions[rule.endpoint]) for rule in app.url_map.iter_rules()]
    return {rule.rule for rule, view in views if "GET" in rule.methods and getattr(view, "access", "") == "public"}


def test_every_public_route_is_walked_or_listed_as_one_without_rows(app: Flask) -> None:
    assert public_reads(app) ^ {*LISTS, *SINGLE, *WITHOUT_ROWS} == set()


def test_no_list_is_empty_over_filled_data(app: Flask, world: World, api: Api) -> None:
    filled = Filled(world, 2)
    empty = [path for path in filled.addresses() if not rows(api.get(path))]
    assert empty == []


def rows(answer: Any) -> int:
    """How many rows an answer has; a single one counts as one."""
    assert answer.status_code == 200, answer.data
    if answer.content_type.startswith("application/json"):
        return len(answer.json.get("items", [answer.json]))
    return int(answer.text.count("<entry>"))


def writes(filled: Filled) -> dict[str, Callable[[], Any]]:
    """One write of each kind that changes what the public reads. Each leaves the first project live."""
    first, second, admin, owner = *filled.projects[:2], filled.admin, filled.owner
    waiting = filled.add(7, "pending")
    fan = filled.world.caller(filled.world.user("fan"))
    project = f"/api/projects/{first}"
    return {
        "vote": lambda: fan.post(f"{project}/upvote"),
        "withdraw": lambda: fan.delete(f"{project}/upvote"),
        "edit": lambda: admin.put(project, {"title": "Project anew", "tags": ["a", "new"]}),
        "edit of a category": lambda: owner.put(project, {"tags": ["a", "other"]}),
        "approve": lambda: admin.put(f"/api/admin/projects/{waiting}/approve"),
        "unpublish": lambda: admin.put(f"/api/admin/projects/{second}/unpublish"),
        "reject": lambda: admin.put(f"/api/admin/projects/{second}/reject", {"reason": "No."}),
        "delete": lambda: owner.delete(f"/api/projects/{waiting}"),
        "rename a category": lambda: admin.put("/api/admin/categories/tools", {"name": "Renamed"}),
        "add a category": lambda: admin.post("/api/admin/categories", {"slug": "games", "name": "Games"}),
        "suspend a voter": lambda: admin.put(f"/api/admin/users/{voter(filled)}", {"status": "suspended"}),
        "activate a voter": lambda: admin.put(f"/api/admin/users/{voter(filled)}", {"status": "active"}),
        "delete an account": lambda: fan.call("DELETE", "/api/auth/me", {"current_password": PASSWORD}),
        "suspend the owner": lambda: admin.put(f"/api/admin/users/{filled.ada.id}", {"status": "suspended"}),
        "activate the owner": lambda: admin.put(f"/api/admin/users/{filled.ada.id}", {"status": "active"}),
    }


def voter(filled: Filled) -> int:
    """A user who has voted for the first project."""
    found = filled.admin.get("/api/admin/users?q=user&limit=100").json["items"]
    return int(next(user["id"] for user in found if user["stats"]["upvotes_given"]))


def test_after_each_kind_of_write_every_cached_answer_equals_a_fresh_one(
    app: Flask, make_app: Any, world: World, api: Api
) -> None:
    filled, fresh = Filled(world, 2), Api(make_app(RESPONSE_CACHE="false"))
    addresses = filled.addresses()
    different: list[tuple[str, str]] = []
    for name, write in writes(filled).items():
        for path in addresses:
            api.get(path)  # now it is stored
        assert write().status_code < 300, name
        different += [(name, path) for path in addresses if answer(api, path) != answer(fresh, path)]
    assert different == []


def answer(api: Api, path: str) -> tuple[int, str]:
    """The status and the text of an answer, without the id of a refused request and the time of a feed without one."""
    got = api.get(path)
    return got.status_code, re.sub(r'"request_id":"[^"]*"', "", got.text)


@pytest.fixture
def uncached(make_app: Any) -> Flask:
    """An application that answers every read by statements, and has read how common words are, as it does seldom."""
    app: Flask = make_app(RESPONSE_CACHE="false")
    with app.app_context():
        search_frequency.estimates()
    return app


def sql(app: Flask, path: str) -> Statements:
    """The statements of an anonymous read, by whichever connection they ran."""
    recorded = Statements()
    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", recorded.note)
    try:
        assert Api(app).get(path).status_code == 200, path
    finally:
        event.remove(engine, "before_cursor_execute", recorded.note)
    return recorded


def test_no_route_runs_more_statements_for_ten_rows_than_for_two(uncached: Flask, world: World) -> None:
    filled, counts = Filled(world, 2), []
    for size in (2, 10):
        filled.projects += [filled.add(n) for n in range(len(filled.projects), size)]
        counts.append({path: len(sql(uncached, path)) for path in filled.addresses()})
    assert counts[0] == counts[1]
    assert min(counts[0].values()) > 0


# What a public answer may be made of, of a user's row.
PUBLIC_OF_USER = {"id", "username", "status", "created_at", "deleted_at"}


def test_no_public_route_reads_a_hidden_column_of_a_user(uncached: Flask, world: World) -> None:
    hidden = {column.name for column in User.__table__.columns if not column.name.startswith("upvotes_")}
    hidden -= PUBLIC_OF_USER
    filled = Filled(world, 2)
    read = {(path, name) for path in filled.addresses() for text in sql(uncached, path) for name in columns(text)}
    assert {(path, name) for path, name in read if name in hidden} == set()
    assert {"id", "username"} <= {name for _, name in read}


def columns(statement: str) -> set[str]:
    """The columns of `users` that a statement names."""
    return set(re.findall(r"\busers(?:_\d+)?\.(\w+)", statement))
