"""What operations write and what rows take: python -m bench.scaling.rows --database URL [--sizes 1000 100000].

The databases are those of `python -m bench --database`, of which it measures copies. The server has been started with
shared_preload_libraries=pg_stat_statements, and serves nothing else meanwhile, because the log is one for all
databases. Each operation is done in this process.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg
import redis
from flask import Flask
from sqlalchemy.engine import make_url
from werkzeug.test import EnvironBuilder, run_wsgi_app

import config
from bench.__main__ import Running
from bench.filling import prepare
from bench.load import Subjects, cpu_seconds
from directory import create_app
from directory.extensions import db
from tests.support import servers
from tests.support.processes import Server

# What belongs to one project, one user and one vote: tables, each with its indexes.
ENTITIES = {
    "project": ("projects", "standings", "project_tags", "project_search", "audit_entries"),
    "user": ("users", "user_submissions"),
    "vote": ("upvotes",),
}
COUNTED = {"project": "projects", "user": "users", "vote": "upvotes"}
SIZES = "SELECT pg_table_size(%s::regclass), pg_indexes_size(%s::regclass) FROM pg_class WHERE oid = %s::regclass"
WAL = (
    "SELECT sum(count), sum(record_size), sum(fpi_size), count(*) FROM pg_get_wal_stats(%s::pg_lsn, %s::pg_lsn) "
    "WHERE \"resource_manager/record_type\" <> 'LogicalMessage'"
)


class Written(NamedTuple):
    """What one operation cost, on average: bytes, statements, and microseconds of CPU."""

    statements: float
    records: float
    record_bytes: float
    image_bytes: float
    app_us: float
    database_us: float


def sizes(url: str) -> dict[str, tuple[float, float]]:
    """Bytes of rows and of indexes for one project, one user and one vote."""
    found = {}
    with psycopg.connect(url, autocommit=True) as connection:
        for entity, tables in ENTITIES.items():
            count = _first(connection, f"SELECT count(*) FROM {COUNTED[entity]}")[0]
            each = [_first(connection, SIZES, table, table, table) for table in tables]
            found[entity] = (sum(row[0] or 0 for row in each) / count, sum(row[1] for row in each) / count)
    return found


def _first(connection: Any, statement: str, *values: Any) -> Any:
    return connection.execute(statement, values or None).fetchone()


class Watch:
    """Measures operations over one database, each by how the server's counters differ afterwards."""

    def __init__(self, url: str, app: Flask, server_pid: int) -> None:
        self._app, self._pid = app, server_pid
        self._connection = psycopg.connect(url, autocommit=True)

    def __call__(self, calls: list[dict[str, Any]], *, cold: bool = False, expected: int = 200) -> Written:
        """Do all calls and measure them; with `cold` right after a checkpoint. Raises SystemExit where one fails."""
        environs = [EnvironBuilder(**call).get_environ() for call in calls]
        if cold:
            self._connection.execute("CHECKPOINT")
        self._connection.execute("SELECT pg_stat_statements_reset()")
        began, spent = self._position(), (time.process_time(), cpu_seconds(self._pid))
        for environ in environs:
            body, status, _ = run_wsgi_app(self._app.wsgi_app, environ)
            content = b"".join(body)
            if int(status[:3]) != expected:
                raise SystemExit(f"{environ['PATH_INFO']}: {status} {content[:300]!r}")
        used = (time.process_time() - spent[0], cpu_seconds(self._pid) - spent[1])
        _first(self._connection, "SELECT pg_logical_emit_message(true, '', '')")  # the log has something to look at
        records = _first(self._connection, WAL, began, self._position())
        statements = _first(
            self._connection,
            "SELECT sum(calls) FROM pg_stat_statements WHERE query NOT LIKE '%pg_current_wal%' "
            "AND query NOT LIKE '%pg_stat_statements%'",
        )[0]
        n = len(calls)
        records_, record_bytes, image_bytes = (float(value or 0) / n for value in records[:3])
        cpu = 1e6 * used[0] / n, 1e6 * used[1] / n
        return Written(float(statements or 0) / n, records_, record_bytes, image_bytes, *cpu)

    def _position(self) -> Any:
        return _first(self._connection, "SELECT pg_current_wal_flush_lsn()")[0]


def operations(subjects: Subjects, count: int) -> Iterator[tuple[str, list[dict[str, Any]], dict[str, Any]]]:
    """Each operation: its name, its calls, and how it is measured."""
    step = max(1, len(subjects.live) // count)
    spread, tokens = subjects.live[::step][:count], subjects.tokens

    def post(path: str, n: int, **body: Any) -> dict[str, Any]:
        return {"method": "POST", "path": path, "headers": _bearer(tokens[n % len(tokens)]), **body}

    def vote(project: int, n: int) -> dict[str, Any]:
        return post(f"/api/projects/{project}/upvote", n)

    yield "list", [{"path": "/api/projects"} for _ in range(count)], {}
    yield "one", [{"path": f"/api/projects/{project}"} for project in spread], {}
    yield "session, anonymous", [{"path": "/api/session"} for _ in range(count)], {}
    yield "list, right after a vote", list(_after_votes(vote, subjects.live[0], count)), {}
    yield "vote, pages not touched since the checkpoint", [vote(p, n) for n, p in enumerate(spread)], {"cold": True}
    yield "vote, the same projects again", [vote(p, n + 7) for n, p in enumerate(spread)], {}
    yield "vote, one project", [vote(subjects.live[0], n) for n in range(count)], {}
    drafts = [post("/api/projects", n, json=_draft(n)) for n in range(count)]
    yield "submission", drafts, {"expected": 201}


def _after_votes(vote: Callable[[int, int], dict[str, Any]], project: int, count: int) -> Iterator[dict[str, Any]]:
    for n in range(count // 2):
        yield vote(project, n)
        yield {"path": "/api/projects"}


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _draft(n: int) -> dict[str, Any]:
    mark = f"{time.time_ns():x}-{n}"
    text = "A project that is there to be weighed. " * 10
    return {
        "title": f"Weighed {mark}", "tagline": "It takes so many bytes", "description": text,
        "category": "developer-tools", "url": f"https://weighed.example/{mark}", "tags": ["bench", "bytes", "rows"],
    }  # fmt: skip


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--count", type=int, default=500)
    given = parser.parse_args()
    for size in given.sizes:
        with copied(given.database, f"bench_{size}") as url:
            show(size, url, given.count)


@contextmanager
def copied(url: str, name: str) -> Iterator[str]:
    """The URL of a copy of a database, which is dropped afterwards."""
    with servers.connect(url) as connection:
        connection.autocommit = True
        connection.execute(f"DROP DATABASE IF EXISTS {name}_copy")
        connection.execute(f"CREATE DATABASE {name}_copy TEMPLATE {name} STRATEGY FILE_COPY")
        copy = make_url(url).set(database=f"{name}_copy").render_as_string(hide_password=False)
        with servers.connect(copy) as inside:
            for extension in ("pg_stat_statements", "pg_walinspect"):
                inside.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
        try:
            yield copy
        finally:
            connection.execute(f"DROP DATABASE {name}_copy (FORCE)")


def show(size: int, url: str, count: int) -> None:
    """Print what operations and rows take in one database."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    print(f"\n{size:,} projects\n{'bytes of':<46} {'rows':>9} {'indexes':>9}")
    for entity, (rows, indexes) in sizes(plain).items():
        print(f"{'a ' + entity:<46} {rows:9,.0f} {indexes:9,.0f}")
    environment = {**os.environ, "DATABASE_URL": url, "RATELIMIT_ENABLED": "false", "LOG_LEVEL": "ERROR"}
    subjects = prepare(url, environment)
    app = create_app(config.load(environment))
    watch = Watch(plain, app, Running(url).pid)
    print(f"{'':<46} {' '.join(f'{name:>12}' for name in Written._fields)}")
    for name, calls, how in operations(subjects, count):
        print(f"{name:<46} {' '.join(f'{value:12,.1f}' for value in watch(calls, **how))}")
    pending = [row[0] for row in _pending(plain, count)]
    approvals = [
        {"method": "PUT", "path": f"/api/admin/projects/{number}/approve", "headers": _bearer(subjects.admin)}
        for number in pending
    ]
    print(f"{'approval':<46} {' '.join(f'{value:12,.1f}' for value in watch(approvals))}")
    accounts = [{"method": "POST", "path": "/api/auth/register", "json": _account(n)} for n in range(20)]
    print(f"{'registration':<46} {' '.join(f'{value:12,.1f}' for value in watch(accounts, expected=201))}")
    with app.app_context():
        db.engine.dispose()
    counted(url, environment, subjects)


def counted(url: str, environment: dict[str, str], subjects: Subjects) -> None:
    """Print what counting a vote against its rate limits takes of Redis."""
    with servers.redis(own=True) as server:
        assert isinstance(server, Server)
        limits = {"REDIS_URL": server.url, "RATELIMIT_ENABLED": "true"}
        app = create_app(config.load(environment | limits))
        client: Any = redis.Redis.from_url(server.url)
        votes = [
            {"method": "POST", "path": f"/api/projects/{subjects.live[0]}/upvote", "headers": _bearer(token)}
            for token in subjects.tokens[:450]
        ]
        watch = Watch(make_url(url).set(drivername="postgresql").render_as_string(hide_password=False), app, server.pid)
        watch(votes[:50])
        client.config_resetstat()
        before = client.info("memory")["used_memory"]
        took, stats = watch(votes[50:]), client.info("commandstats")
        memory, calls = client.info("memory")["used_memory"] - before, len(votes) - 50
        print(f"Redis for a first vote: {memory / calls:,.0f} bytes; app {took.app_us:,.0f} us", end=", ")
        print(f"Redis {took.database_us:,.0f} us")
        for name, each in sorted(stats.items()):
            print(f"  {name}: {each['calls'] / calls:.2f} calls of {each['usec_per_call']} us")
        with app.app_context():
            db.engine.dispose()


def _account(n: int) -> dict[str, str]:
    mark = f"{time.time_ns() % 10**12:x}{n}"
    return {"username": f"w{mark}", "email": f"w{mark}@example.org", "password": f"a long phrase {mark}"}


def _pending(url: str, count: int) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(
            "SELECT id FROM projects WHERE title LIKE 'Weighed%%' AND status = 'pending' ORDER BY id DESC LIMIT %s",
            (count,),
        ).fetchall()


if __name__ == "__main__":
    main()
