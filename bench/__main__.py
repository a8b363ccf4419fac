"""Measures the service and its own ceilings: python -m bench, or make bench. Needs wrk.

Starts a PostgreSQL (with fsync) and a Redis of its own, fills a database for each size, serves it in production form,
and writes its tables below --out.
"""

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url

from bench import changes, own_fields, search
from bench.distance import distance
from bench.filling import age, flask, prepare
from bench.load import (
    FIELDS,
    GROWING,
    ONCE,
    OPERATIONS,
    SIGNED_IN,
    VISITED,
    Subjects,
    fresh,
    measure,
    requests,
    wait_for,
)
from bench.report import growth, table
from tests.support import servers
from tests.support.processes import free_port

ROOT = Path(__file__).parent.parent
# It syncs, and has the log and the quarter of the machine's memory that docs/deploy.md gives it.
QUARTER = max(1, round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 4 / 1024**3))
DURABLE = {
    "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
    "max_wal_size": "4GB", "shared_buffers": f"{QUARTER}GB",
}  # fmt: skip
OTHERS = {"flask_const": "bench.ceilings:flask_app", "wsgi_const": "bench.ceilings:wsgi_app"}
WITH_FIELDS = "with_fields"  # the service over the same directory with fields of the operator's own
ASKED = {
    **dict.fromkeys(OTHERS, ("list", "one", "vote", "analytics")),
    WITH_FIELDS: (*FIELDS, "one", "vote", "mixed"),
}


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--sqlite", action="store_true", help="the embedded form: SQLite and one process")
    parser.add_argument("--alone", action="store_true", help="without the ceilings: where only growth is asked for")
    every = [*OPERATIONS, *ONCE, *SIGNED_IN, *VISITED, *GROWING, *changes.WRITING, *FIELDS]
    parser.add_argument("--ops", nargs="+", default=every, choices=every)
    parser.add_argument("--distance", type=float, default=0.0, metavar="MS", help="to PostgreSQL, each way")
    parser.add_argument(
        "--database", help="a PostgreSQL that runs already, as postgresql+psycopg://…; its bench_N are used"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / ".run")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is missing: apt-get install wrk")
    given.out = given.out.resolve()  # some servers start elsewhere
    given.out.mkdir(parents=True, exist_ok=True)
    results: list[dict[str, Any]] = []
    with ExitStack() as stack:
        postgres = redis = None
        if not given.sqlite:
            own = None if given.database else stack.enter_context(servers.postgresql(**DURABLE))
            postgres = own or Running(given.database)
            redis = stack.enter_context(servers.redis())
        directories = [fill(size, given, postgres, redis) for size in given.sizes]
        far = None
        if postgres is not None and given.distance:
            far = stack.enter_context(distance(make_url(postgres.url).port or 5432, given.distance))
        names = ["ours", *([] if given.alone else OTHERS)]
        sites = [[(name, each) for name in names] for each in directories]
        if {*FIELDS} & {*given.ops}:
            directories += (fuller := [own_fields.filled(each, postgres) for each in directories])
            for site, each in zip(sites, fuller, strict=True):
                site.append((WITH_FIELDS, each))
        for round_ in range(given.rounds + 1):
            nearby = [[(name, moved(each, far)) for name, each in site] for site in sites]
            done = play(round_, nearby, given, postgres)
            results += done if round_ else []  # the first fills the memories, and does not count
            for directory in directories:
                flask(directory.environment, "recount", "--check")
    (given.out / "results.json").write_text(json.dumps(results, indent=1))
    (given.out / "table.md").write_text(text := table(results) + search.table(results) + growth(results))
    print(text)


class Running:
    """A PostgreSQL on this machine that somebody else started and filled."""

    def __init__(self, url: str) -> None:
        self.url = url
        with servers.connect(url) as connection:
            row = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
        assert row is not None
        self.pid = int(row[0].split()[0])


@dataclass(frozen=True)
class Filled:
    """A directory to be served: its size, its settings, what can be asked of it, and the checkout that serves it."""

    size: int
    environment: dict[str, str]
    subjects: Subjects
    root: Path = ROOT


def fill(size: int, given: argparse.Namespace, postgres: Any, redis: Any) -> Filled:
    """The directory of a size."""
    if postgres is None:
        url = f"sqlite:///{given.out / f'bench_{size}.db'}"
        (given.out / f"bench_{size}.db").unlink(missing_ok=True)
    elif given.database:
        url = make_url(given.database).set(database=f"bench_{size}").render_as_string(hide_password=False)
    else:
        url = servers.create_database(postgres.url, f"bench_{size}")
    processes = 1 if postgres is None else given.processes
    environment = {
        **os.environ, "DATABASE_URL": url, "RATELIMIT_ENABLED": "false", "WEB_CONCURRENCY": str(processes),
        "THREADS": "8", "LOG_LEVEL": "INFO", "REPORTS": "members",
        **({"REDIS_URL": redis.url} if redis else {}),
    }  # fmt: skip
    flask(environment, "db", "upgrade")
    if not given.database:
        flask(environment, "seed", "--projects", str(size))
    return Filled(size, environment, prepare(url, environment))


def moved(directory: Filled, port: int | None) -> Filled:
    """The directory with its database behind another port; None for its own."""
    if port is None:
        return directory
    url = make_url(directory.environment["DATABASE_URL"]).set(host="127.0.0.1", port=port)
    environment = {**directory.environment, "DATABASE_URL": url.render_as_string(hide_password=False)}
    return Filled(directory.size, environment, directory.subjects)


def play(round_: int, sites: list[list[tuple[str, Filled]]], given: Any, postgres: Any) -> list[dict[str, Any]]:
    """A round: each operation of all sizes and servers right after one another, for the machine's own pace changes."""
    rows = []
    with ExitStack() as stack:
        serving = [[stack.enter_context(served(*each, given)) for each in site] for site in sites]
        for n, operation in enumerate(given.ops):
            # Work that the database puts off falls on the next server measured, so they take turns.
            for server in itertools.chain.from_iterable(serving[:: 1 if (round_ + n) % 2 else -1]):
                if operation not in ASKED.get(server.name, {*given.ops} - {*FIELDS}):
                    continue
                row = asked(operation, server, given, postgres)
                rows.append({"round": round_, "op": operation, **row})
                shown = f"{server.directory.size:>9,} round {round_} {server.name:12} {operation:10}"
                print(f"{shown} {row['rps']:9.1f}/s", flush=True)
    return rows


@dataclass(frozen=True)
class Served:
    """A server that answers: by what name, over which directory, where, by which process, and how soon it did."""

    name: str
    directory: Filled
    url: str
    pid: int
    started: float


@contextmanager
def served(name: str, directory: Filled, given: Any) -> Iterator[Served]:
    """One server over one directory: by the name of a ceiling that, otherwise the service."""
    address = f"127.0.0.1:{(port := free_port())}"
    bodies = given.out / f"bodies_{directory.size}"
    paths = {**directory.environment, "PYTHONPATH": str(directory.root), "PORT": str(port), "BENCH_BODIES": str(bodies)}
    gunicorn = [sys.executable, "-m", "gunicorn"]
    if name not in OTHERS:
        command = [*gunicorn, "-c", "gunicorn.conf.py", "wsgi:app"]
    else:
        command = [*gunicorn, "-k", "gthread", "-w", paths["WEB_CONCURRENCY"], "--threads", "8", "-b", address]
        command += ["--no-control-socket", OTHERS[name]]
    with (given.out / f"{name}_{directory.size}.log").open("wb") as log:
        # The ceilings start elsewhere: gunicorn would take our own configuration from the folder that it is in.
        place = given.out if name in OTHERS else directory.root
        process = subprocess.Popen(command, env=paths, cwd=place, stdout=log, stderr=log)
    try:
        server = Served(name, directory, f"http://{address}", process.pid, wait_for(f"http://{address}", process))
        if name == "ours":
            keep_bodies(server.url, directory.subjects, bodies)
        yield server
    finally:
        process.terminate()
        process.wait(30)


def asked(operation: str, server: Served, given: Any, postgres: Any) -> dict[str, Any]:
    """The figures of an operation."""
    subjects = server.directory.subjects
    row = {"server": server.name, "size": server.directory.size, "start_s": server.started}
    if operation == "fresh_analytics":
        return row | fresh(server.url, subjects)
    if operation == "search_common":
        return row | search.common(server.url, subjects.admin, subjects.words)
    pids = {"server": server.pid} | ({"database": postgres.pid} if postgres else {})
    load = {"seconds": given.seconds, "connections": given.connections, "pids": pids}
    if operation in changes.WRITING:
        return row | changes.measured(operation, server.directory, server.url, **load)
    lines, warm_up = requests(operation, subjects), None
    if operation in ONCE:
        age(server.directory.environment["DATABASE_URL"], ONCE[operation])
        warm_up = requests("vote", subjects)
    return row | measure(server.url, lines, warm_up=warm_up, **load)


def keep_bodies(base: str, subjects: Subjects, out: Path) -> None:
    """The bytes that the ceilings answer with."""
    import requests as http

    admin = {"Authorization": f"Bearer {subjects.admin}"}
    out.mkdir(exist_ok=True)
    first = subjects.live[0]
    (out / "list").write_bytes(http.get(f"{base}/api/projects", timeout=30).content)
    (out / "one").write_bytes(http.get(f"{base}/api/projects/{first}", timeout=30).content)
    (out / "vote").write_text(f'{{"project_id":{first},"upvoted":true,"upvotes":1}}')
    (out / "analytics").write_bytes(http.get(f"{base}/api/admin/analytics", headers=admin, timeout=30).content)


if __name__ == "__main__":
    main()
