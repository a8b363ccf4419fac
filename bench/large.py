"""What lists, facets, and related projects cost the database at any size, uncached: `python -m bench.large`.

1. Each request alone: facets, lists of a period, related projects, searches with `nearest`. The bar is 100 ms at a
   million projects.
2. In turns: a page of a list with its facets, the page of a project with its related projects, and the page of a list
   without facets. The bar is 1.5 times the last one, at 100,000 projects.

Of each request the table has the CPU of its statements, that of the costliest one, and how many they are; the median of
some rounds, warm. It is CPU, and not time, because other work disturbs that less: of the connection's process of
PostgreSQL, and of our own thread with SQLite. Projects are seeded, and copied (`bench/copying.py`).
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from bench import copying
from bench.webhooks import BACKENDS, database
from directory.db.compiled import CompiledForSqlite
from directory.db.compiled_postgresql import CompiledForPostgresql
from directory.extensions import db
from directory.models import now
from directory.services.catalog import facets, orders, periods, search_counts, ways
from directory.services.catalog.stored_counts import StoredCounts
from tests.conftest import build, migrate
from tests.support.factories import Api

PROJECTS, COPIES, ROUNDS = 1_000_000, 50, 5
DEEP = 500  # a page
LIST, FACETS = "/api/projects", "/api/projects/facets"
COMMON, NONE = "was", "xyzzy"  # a word of half the projects (see bench/search.py), and one of none
Cost = tuple[float, ...]  # milliseconds of CPU of each statement


def asked_of(api: Api) -> dict[str, str]:
    """The requests of the first part, by what they are."""
    first, second, *_, rare = (each["tag"] for each in api.get("/api/tags?limit=100").json["items"])
    slug = max(api.get("/api/categories").json["items"], key=lambda each: each["live_projects"])["slug"]
    owner = api.get(LIST).json["items"][0]["owner"]["username"]
    narrowed = {
        "a common tag": f"tag={first}", "a rarer tag": f"tag={rare}", "two tags": f"tag={first},{second}",
        "a category": f"category={slug}", "category and tag": f"category={slug}&tag={first}",
        "category and two tags": f"category={slug}&tag={first},{second}", "an owner": f"owner={owner}",
        "a common word": f"q={COMMON}", "a common word and tag": f"q={COMMON}&tag={first}",
        "two words": f"q={COMMON}+free", "a common word and category": f"q={COMMON}&category={slug}",
        "a common word and year": f"q={COMMON}&published={now().year - 1}",
    }  # fmt: skip
    asked = {f"facets, {name}": f"{FACETS}?{query}" for name, query in {"all": "", **narrowed}.items()}
    asked |= {f"list, {name}": f"{LIST}?{query}" for name, query in narrowed.items()}
    day = now().date() - timedelta(days=400)
    for kind in periods.KINDS:
        period = periods.containing(day, kind)
        asked[f"facets, a {kind}"] = f"{FACETS}?published={period}"
        asked[f"facets, a {kind} and tag"] = f"{FACETS}?published={period}&tag={first}"
        asked[f"/best, a {kind}"] = f"/best/{period}"
        asked[f"a {kind} and tag, upvotes"] = f"{LIST}?published={period}&sort=upvotes&tag={first}"
        for sort in orders.PUBLIC:
            path = f"{LIST}?published={period}&sort={sort}"
            found = api.get(path).json["pagination"]
            page = min(DEEP, found["pages"])
            deep = api.get(f"{path}&page={page}").json["pagination"]
            asked[f"a {kind}, {sort}, first page"] = path
            if page > 1:
                asked[f"a {kind}, {sort}, page {page}"] = f"{path}&page={page}"
            if cursor := deep["next_cursor"] or deep["prev_cursor"]:
                asked[f"a {kind}, {sort}, by cursor there"] = f"{path}&cursor={cursor}"
    for n, item in enumerate(api.get(f"{LIST}?sort=upvotes&limit=3").json["items"], 1):
        asked[f"related, {n}"] = f"{LIST}/{item['id']}/related"
    asked |= narrowed_by_fields(api)
    for n, words in enumerate((f"{COMMON}+free+{NONE}", f"a+{COMMON}+free+software+help+{NONE}"), 1):
        asked[f"nearest, {n}"] = f"{LIST}?q={words}"
    return asked


def narrowed_by_fields(api: Api) -> dict[str, str]:
    """Those by fields of the operator's own, where there are such (see bench/own_fields.py)."""
    asked: dict[str, str] = {}
    for field in (each for each in api.get("/api/fields").json["items"] if each["facet"]):
        value = field["choices"][0]["value"] if field["choices"] else {"number": "700..999"}.get(field["kind"])
        for name, path in (("facets", FACETS), ("list", LIST)) if value else ():
            query = f"field.{field['name']}={value}"
            asked[f"{name}, {field['name']}"] = f"{path}?{query}"
            asked[f"{name}, a common word and {field['name']}"] = f"{path}?q={COMMON}&{query}"
    return asked


@contextmanager
def counted(costs: list[float]) -> Iterator[None]:
    """Have `costs` get the CPU, in milliseconds, of each prepared statement that the block runs."""
    on_sqlite = _measured(CompiledForSqlite._fetch, costs, _own)
    on_postgresql = _measured(CompiledForPostgresql._fetch, costs, _of_its_process)
    with (
        patch.object(CompiledForSqlite, "_fetch", on_sqlite),
        patch.object(CompiledForPostgresql, "_fetch", on_postgresql),
    ):
        yield


def _measured(fetch: Any, costs: list[float], used: Callable[[Any], int]) -> Any:
    def fetched(self: Any, connection: Any, *given: Any) -> Any:
        began = used(connection)
        rows = fetch(self, connection, *given)
        costs.append((used(connection) - began) / 1e6)
        return rows

    return fetched


def _own(_connection: Any) -> int:
    return time.thread_time_ns()


def _of_its_process(connection: Any) -> int:
    pid = connection.dbapi_connection.pgconn.backend_pid
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def cost_of(api: Api, path: str) -> Cost:
    """What the statements of a request cost. Nothing of it is stored."""
    costs: list[float] = []
    with (
        counted(costs),
        patch.object(facets, "stored", StoredCounts(0)),
        patch.object(ways, "totals", StoredCounts(0)),
        patch.object(search_counts, "STORED", 0),
    ):
        answer = api.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    return tuple(costs)


def each(api: Api, only: str) -> None:
    """The first part."""
    print("| request | ms | costliest statement | statements |\n|---|---|---|---|")
    for name, path in asked_of(api).items():
        if only in name:
            cost_of(api, path)
            costs = [cost_of(api, path) for _ in range(ROUNDS)]
            total, most = median(map(sum, costs)), median(map(max, costs))
            print(f"| {name} | {total:.1f} | {most:.1f} | {len(costs[0])} |", flush=True)


def beside(api: Api, only: str) -> None:
    """The second part: the CPU of whole requests. A project's page is compared with the plain list too."""
    tag = api.get("/api/tags?limit=1").json["items"][0]["tag"]
    first = api.get(f"{LIST}?sort=upvotes&limit=1").json["items"][0]
    page, project, of_tag = "/?page=2", f"/p/{first['id']}/{first['slug']}", f"/tags/{tag}"
    bare = {"of": lambda *_: facets.Facets({}, {}, {}, capped=False)}
    turns: dict[str, tuple[str, dict[str, Any]]] = {
        "list": (page, bare),
        "list with facets": (page, {"stored": StoredCounts(0)}),
        "project with related": (project, {}),
        "list of a tag": (of_tag, bare),
        "list of a tag with facets": (of_tag, {"stored": StoredCounts(0)}),
        "list of a tag with stored facets": (of_tag, {}),
    }
    took: dict[str, list[float]] = {name: [] for name in turns}
    for turn in range(-3, 10 * ROUNDS):
        for name in sorted(turns, key=lambda name: hash((turn, name))):
            path, patches = turns[name]
            if not patches:
                api.get(path)  # the facets are stored
            costs: list[float] = []
            with patch.multiple(facets, **patches) if patches else nullcontext(), counted(costs):
                began = time.thread_time()
                assert api.get(path).status_code == 200, path
                ours = 1000 * (time.thread_time() - began)
            if turn >= 0:
                took[name].append(ours + (sum(costs) if on_postgresql(api) else 0))
    base, base_of_tag = median(took["list"]), median(took["list of a tag"])
    for name, costs in took.items():
        found = median(costs)
        ratio = found / (base_of_tag if "tag" in name else base)
        if only in name:
            print(f"{name}: {found:.1f} ms of CPU, {ratio:.2f}", flush=True)


def on_postgresql(api: Api) -> bool:
    """Whether the database has processes of its own."""
    return str(api.app.config["SQLALCHEMY_DATABASE_URI"]).startswith("postgresql")


PARTS: dict[str, Callable[[Api, str], None]] = {"1": each, "2": beside}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.large", description=__doc__)
    parser.add_argument("--database", choices=BACKENDS, action="append", help="default: both")
    parser.add_argument("--filled", metavar="URL", help="a database that is filled already, instead")
    parser.add_argument("--projects", type=int, default=PROJECTS)
    parser.add_argument("--part", choices=PARTS, action="append", help="default: all")
    parser.add_argument("--only", default="", metavar="TEXT", help="the rows with this in their name")
    given = parser.parse_args()
    parts = [PARTS[number] for number in given.part or PARTS]
    if given.filled:
        measure(given.filled, parts, given.only)
        return
    for backend in given.database or BACKENDS:
        with database(backend) as url:
            print(f"{backend}:", flush=True)
            fill(url, given.projects)
            measure(url, parts, given.only)


def fill(url: str, projects: int) -> None:
    """Seed an empty database with a part of the projects, and copy them."""
    migrate(url)
    app, seeded = build(url), projects // COPIES
    sizes = ["--projects", str(seeded), "--users", str(seeded), "--votes", str(2 * seeded)]
    assert app.test_cli_runner().invoke(args=["seed", *sizes]).exit_code == 0
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    copying.multiply(url, COPIES)


def measure(url: str, parts: list[Callable[[Api, str], None]], only: str) -> None:
    """The parts over a filled database."""
    app = build(url, RESPONSE_CACHE="false", RATELIMIT_ENABLED="false")
    for part in parts:
        part(Api(app), only)
    with app.app_context():
        db.engine.dispose()


if __name__ == "__main__":
    main()
