"""The work of the database for a client's requests, in a small directory and in one ten times as large."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from flask import Flask
from sqlalchemy import Connection, event, text

from directory.db.engine import BUSY_TIMEOUT
from directory.extensions import db
from directory.services.catalog import search, search_counts, similar, sitemap, tags
from tests.db.test_plans import Plans
from tests.support.factories import Api, World
from tests.support.lists import ORDERS

SMALL, LARGE = 300, 3_000


@pytest.fixture
def app(make_app: Any) -> Flask:
    """The application without the response cache: each request reads the database."""
    return make_app(RESPONSE_CACHE=False)  # type: ignore[no-any-return]


def grow(app: Flask, projects: int) -> None:
    """Add projects, and as many tags; and let the planner know of them."""
    sizes = ["--projects", str(projects), "--users", "100", "--votes", str(projects), "--random-seed", str(projects)]
    assert app.test_cli_runner().invoke(args=["seed", "--force", *sizes]).exit_code == 0
    rows = [{"tag": f"t{projects}-{n}"} for n in range(projects)]  # seeded projects share some dozens of tags
    with app.app_context(), db.engine.connect() as connection:
        with connection.execution_options(**{BUSY_TIMEOUT: 4_000}).begin():
            connection.execute(text("INSERT INTO tag_counts (tag, live_projects) VALUES (:tag, 1)"), rows)
        connection.exec_driver_sql("VACUUM ANALYZE" if connection.dialect.name == "postgresql" else "ANALYZE")


def noted(app: Flask, work: Callable[[], Any]) -> Plans:
    """The statements that some work runs, but for those that tell who calls."""
    statements = Plans()
    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", statements.note)
    work()
    event.remove(engine, "before_cursor_execute", statements.note)
    statements[:] = [each for each in statements if "token_hash" not in each[0]]
    return statements


def asked(app: Flask, caller: Api, path: str) -> Plans:
    """The statements of a request."""

    def ask() -> None:
        answer = caller.get(path)
        assert answer.status_code == 200, (path, answer.json)

    ask()  # the token's first use is written
    return noted(app, ask)


def effort(app: Flask, statements: Plans, of: str = "") -> int:
    """The rows and blocks that PostgreSQL reads, or of one table the rows; or the steps that SQLite takes."""
    with app.app_context(), db.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            return sum(_steps(connection, sql, given) for sql, given in statements)
        return sum(_rows(connection, sql, given, of) for sql, given in statements)


def _steps(connection: Connection, sql: str, given: Any) -> int:
    driver: Any = connection.connection.dbapi_connection
    counted = 0

    def count() -> None:
        nonlocal counted
        counted += 10

    driver.set_progress_handler(count, 10)
    connection.exec_driver_sql(sql, given).fetchall()
    driver.set_progress_handler(None, 0)
    return counted


def _rows(connection: Connection, sql: str, given: Any, of: str) -> int:
    explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}"
    if "$1" in sql:
        [[found]] = psycopg.RawCursor(connection.connection.dbapi_connection).execute(explain, given).fetchall()
    else:
        [[found]] = connection.exec_driver_sql(explain, given).fetchall()
    plan = (found if isinstance(found, list) else json.loads(found))[0]["Plan"]
    blocks = 0 if of else int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
    return blocks + sum(_read(node) for node in _nodes(plan) if of in _name(node))


def _name(node: dict[str, Any]) -> str:
    return str(node.get("Relation Name") or node.get("Index Name") or "")


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


def _read(node: dict[str, Any]) -> int:
    """The rows that a node reads from a table or an index, those included that it does not want."""
    if not _name(node):
        return 0
    rows = node["Actual Rows"] + sum(value for key, value in node.items() if key.startswith("Rows Removed"))
    return round(rows * node["Actual Loops"])


def test_requests_cost_the_same_in_a_directory_ten_times_as_large(app: Flask, world: World) -> None:
    grow(app, SMALL)
    ada = world.user("ada")
    for n in range(5):
        world.vote(
            world.project(title=f"Quokka {n}", url="https://quokka.example", tags=["quokka", f"quokka-{n}"]), ada
        )
    for status in ("live", "rejected"):
        world.project(ada, status)
    caller = world.caller(ada)
    liked = [f"/api/projects?upvoted=me&sort={sort}" for sort in ORDERS]
    paths = [
        *liked, "/api/projects?upvoted=me&limit=2&page=2", "/api/projects?upvoted=me&q=quokka",
        "/api/projects?upvoted=me&tag=quokka", "/api/projects?upvoted=me&status=pending", "/api/projects?owner=me",
        "/api/projects/counts?owner=me", "/api/users/ada", "/api/tags", "/api/tags?limit=5", "/api/tags?prefix=quo",
        "/api/projects/check?url=https://quokka.example", "/api/projects/check?title=Quokka", "/api/session",
    ]  # fmt: skip
    before = {path: effort(app, asked(app, caller, path)) for path in paths}
    grow(app, LARGE)
    after = {path: effort(app, asked(app, caller, path)) for path in paths}
    assert {path: (before[path], cost) for path, cost in after.items() if cost > 1.3 * before[path] + 20} == {}


def test_a_narrowed_search_for_a_common_word_costs_the_same_in_a_directory_ten_times_as_large(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once its matches are counted: then the list is walked until the page is full.

    How far depends on the tag that is used most, which is another one in each directory; so the bound is wide.
    """
    monkeypatch.setattr(search, "MOST", 5)
    monkeypatch.setattr(search_counts, "SPARE", 1)
    caller = world.caller(world.user())
    costs = []
    for size in (SMALL, LARGE):
        grow(app, size)
        tag = caller.get("/api/tags?limit=1").json["items"][0]["tag"]
        narrowed = [f"q=was&limit=2&{narrow}" for narrow in ("category=web-frameworks", f"tag={tag}")]
        paths = [f"/api/projects?{path}&sort={sort}" for path in narrowed for sort in ORDERS]
        assert all(caller.get(path).json["pagination"]["total_capped"] for path in paths)
        costs.append(sum(effort(app, asked(app, caller, path)) for path in paths))
    assert costs[1] <= 4 * costs[0], costs


def explained(app: Flask, statements: Plans, *, is_small: bool = False) -> list[str]:
    with app.app_context():
        return statements.explained(is_small=is_small)


def test_a_title_of_common_words_reads_a_bounded_part_of_the_search_index(app: Flask, world: World) -> None:
    grow(app, LARGE)
    caller = world.caller(world.user())
    for project in caller.get("/api/projects?limit=5").json["items"]:
        statements = asked(app, caller, f"/api/projects/check?title={project['title']}")
        terms = sum(sql.count(f"LIMIT {similar.COMMON}") for sql, _ in statements)
        assert terms >= 2
        each = 100 if app.config["SQLALCHEMY_DATABASE_URI"].startswith("sqlite") else 10
        assert effort(app, statements, of="project_search") < each * terms * similar.COMMON


def test_the_projects_of_a_url_and_of_an_owner_are_found_by_indexes(app: Flask, world: World) -> None:
    grow(app, LARGE)
    caller = world.caller(world.user())
    [same] = explained(app, asked(app, caller, "/api/projects/check?url=https://quokka.example"))
    assert "ix_projects_url_key" in same
    assert "owner_id = " in same or "owner_id=? AND url_key=?" in same
    [counts] = explained(app, asked(app, caller, "/api/projects/counts?owner=me"))
    assert "ix_projects_owner_id_status_listed_at_id" in counts


def test_tags_with_a_common_beginning_are_sought_in_the_order_of_their_use(app: Flask, world: World) -> None:
    caller = world.caller(world.user())
    rows = [{"tag": f"t-{n:04}", "n": 1 + n * 7 % 50} for n in range(3 * tags.FEW)]
    with app.app_context(), db.engine.connect() as connection:
        with connection.execution_options(**{BUSY_TIMEOUT: 4_000}).begin():
            connection.execute(text("INSERT INTO tag_counts (tag, live_projects) VALUES (:tag, :n)"), rows)
        connection.exec_driver_sql("ANALYZE")
    for query, way in (("limit=5", "in order"), ("prefix=t&limit=5", "in order"), ("prefix=t-00&limit=5", "sorted")):
        statements = asked(app, caller, f"/api/tags?{query}")
        if app.config["SQLALCHEMY_DATABASE_URI"].startswith("sqlite"):
            plan = explained(app, statements)[-1]
            assert ("TEMP B-TREE" in plan) == (way == "sorted"), plan
            assert ("ix_tag_counts_live_projects_tag" in plan) == (way == "in order"), plan
        assert effort(app, Plans(statements[-1:])) < (300 if way == "in order" else 3_000)


def test_the_places_in_the_queue_are_read_in_one_walk_without_a_sort_of_the_projects(app: Flask, world: World) -> None:
    grow(app, LARGE)
    ada = world.user()
    for _ in range(3):
        world.project(ada, "pending")
    world.caller(ada).put(f"/api/projects/{world.project(ada)}", {"title": "Another"})
    statements = asked(app, world.caller(ada), "/api/projects?owner=me")
    [places] = explained(app, Plans(each for each in statements if "row_number" in each[0]), is_small=True)
    queue_in_order(places)
    assert "TEMP B-TREE" not in places, places


def test_the_queue_is_read_in_the_order_of_its_two_indexes(app: Flask, world: World) -> None:
    grow(app, LARGE)
    ada, admin = world.user(), world.caller(world.admin())
    world.project(ada, "pending")
    world.caller(ada).put(f"/api/projects/{world.project(ada)}", {"title": "Another"})
    path = "/api/admin/projects?waiting=true&limit=1"
    following = admin.get(path).json["pagination"]["next_cursor"]
    for query in ("", "&page=2", f"&cursor={following}"):
        statements = asked(app, admin, path + query)
        [page] = explained(app, Plans(each for each in statements if "has_upvoted" in each[0]), is_small=True)
        queue_in_order(page.partition("USERS")[0])


def queue_in_order(plan: str) -> None:
    """The plan reads what waits by its index, in its order, and sorts no more than the rows of the page."""
    page = r"Limit .*\n.*Nested Loop.*\n.*Scan using ix_reviews_queue"
    of_sqlite = r"(MATERIALIZE found|CO-ROUTINE \(subquery-3\))\n\s*(SCAN|SEARCH) reviews USING INDEX ix_reviews_queue"
    window = r"WindowAgg.*\n(?:.*Window: .*\n)?.*Scan using ix_reviews_queue"  # PostgreSQL 18 prints the window
    assert re.search(rf"{page}|{window}|{of_sqlite}", plan), plan
    assert "USE TEMP B-TREE" not in plan.partition("SCAN found")[0], plan


def test_the_sitemap_walks_the_ids(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemap, "SIZE", 100)
    sitemap._parts.cache_clear()
    grow(app, LARGE)
    index, part = explained(app, noted(app, lambda: index_and_a_part(app)))
    sitemap._parts.cache_clear()
    assert "Seq Scan on standings" not in index
    assert "USING INTEGER PRIMARY KEY" in index or "pk_standings" in index, index
    assert "SEARCH projects USING INTEGER PRIMARY KEY" in part or "pk_projects" in part, part
    assert "TEMP B-TREE" not in part
    assert "Sort" not in part


def index_and_a_part(app: Flask) -> None:
    with app.app_context():
        assert len(sitemap.parts()) == LARGE // 100
        assert 0 < len(sitemap.part(2)) <= 100
