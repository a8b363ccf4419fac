"""Measures what a submission and an approval cost beside their statements alone: python -m bench.statements. Needs wrk.

PostgreSQL's own log records the statements that the application sends for some requests: rows, tags, search index, log,
outbox and counters, and what it reads before and after. psycopg alone sends the same statements, in the same
transactions and with the same values, to a copy of the same database, where they get the same ids. Over another copy
the service answers the same requests. Both work one after another, so read CPU: the time is mostly that of the disk.
"""

import argparse
import json
import re
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import psycopg
from sqlalchemy.engine import make_url

import config
from bench import changes
from bench.__main__ import DURABLE, ROOT, Filled, fill, served
from bench.filling import on_postgresql
from bench.load import cpu_seconds
from directory import create_app
from directory.extensions import db
from tests.support import servers

LOGGING = {"logging_collector": "on", "log_destination": "jsonlog", "log_filename": "statements.log"}
EVENTS = ["project.submitted", "project.approved"]
# Each event adds a row to the outbox. No deliverer runs, so the rows stay there.
NOTIFYING = {
    "WEBHOOK_ENDPOINTS": json.dumps([{"url": "https://hooks.example/", "secret": "s" * 40, "events": EVENTS}]),
    "WEBHOOK_WORKER": "false",
}  # fmt: skip
FIRST, TIMES = 50, 300  # requests that fill the memories, and those that count
VALUE = re.compile(r"\$\d+ = (NULL|'(?:[^']|'')*')")
FLOAT = re.compile(r"'-?\d+\.\d+(e[+-]\d+)?'")


class Sent(NamedTuple):
    """A statement that a session sent, and its values: of a COPY its rows, and None where it has no places for any."""

    session: str
    statement: str
    values: list[Any] | None


class Cost(NamedTuple):
    """Of a request: milliseconds, and microseconds of CPU of the client or the service, and of the database."""

    ms: float
    own: float
    database: float

    def __str__(self) -> str:
        return f"{self.own:,.0f} + {self.database:,.0f} us, {self.ms:.1f} ms"


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--show", action="store_true", help="print the statements of one request")
    given = parser.parse_args(namespace=Namespace(out=ROOT / "bench" / ".run", database=None, processes=1))
    given.out.mkdir(parents=True, exist_ok=True)
    print("| operation | service | statements alone | statements | CPU by CPU |", "|---" * 5 + "|", sep="\n")
    with servers.postgresql(**DURABLE, **LOGGING) as postgres:
        filled = fill(given.size, given, postgres, None)
        directory = replace(filled, environment=filled.environment | NOTIFYING)
        for operation in ("submit", "approve"):
            with changes.prepared(operation, directory, given.seconds) as lines:
                recorded, replayed, answered = (
                    copy(directory, postgres, f"{operation}_{name}") for name in ("recorded", "replayed", "served")
                )
            first, sent = record(recorded, operation, lines)
            for each in sent[-len(sent) // TIMES :] if given.show else ():
                print(" ".join(each.statement.split()))
            alone = replay(replayed, postgres, first, sent)
            assert left(replayed) == left(recorded), "the statements have not done what they did"
            service = serve(answered, postgres, operation, lines, given)
            ratio = (service.own + service.database) / (alone.own + alone.database)
            print(f"| {operation} | {service} | {alone} | {len(sent) / TIMES:.1f} | {ratio:.2f} |", flush=True)


def copy(directory: Filled, postgres: Any, name: str) -> Filled:
    """A copy of the database, and the directory that it is of."""
    template = str(make_url(directory.environment["DATABASE_URL"]).database)
    url = servers.create_database(postgres.url, f"bench_{name}", template=template)
    on_postgresql(url, "CHECKPOINT")
    return replace(directory, environment={**directory.environment, "DATABASE_URL": url})


def record(directory: Filled, operation: str, lines: list[str]) -> tuple[list[Sent], list[Sent]]:
    """What is sent for the first requests, and for those that count."""
    url = directory.environment["DATABASE_URL"]
    on_postgresql(url, f"ALTER DATABASE {make_url(url).database} SET log_statement = 'all'")
    app = create_app(config.load({**directory.environment, "LOG_LEVEL": "ERROR"}))
    copied: dict[psycopg.Copy, list[Any]] = {}  # the log has no rows
    write_row = psycopg.Copy.write_row

    def note(copy: psycopg.Copy, row: Any) -> None:
        copied.setdefault(copy, []).append(row)
        write_row(copy, row)

    with patch.object(psycopg.Copy, "write_row", note):
        for n, line in enumerate(lines[: FIRST + TIMES]):
            if n == FIRST:
                on_postgresql(url, "SELECT 'first'")
            answer = changes.answer(app, line)
            assert answer.status_code == changes.CHANGES[operation].status, answer.text
    with app.app_context():
        db.engine.dispose()
    on_postgresql(url, "SELECT 'last'")
    sent = list(logged(url, iter(copied.values())))
    first, last = (
        next(n for n, each in enumerate(sent) if each.statement == f"SELECT '{name}'") for name in ("first", "last")
    )
    return sent[:first], sent[first + 1 : last]


def logged(url: str, copied: Iterator[list[Any]]) -> Iterator[Sent]:
    """The statements that the log of PostgreSQL has of a database, which ends with one that selects 'last'."""
    with servers.connect(url) as connection:
        name, data = connection.execute("SELECT current_database(), current_setting('data_directory')").fetchone() or ()
    path = Path(data) / "log" / "statements.json"
    for _ in range(100):
        rows = [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
        mine = [row for row in rows if row.get("dbname") == name and row["error_severity"] == "LOG"]
        if any(row["message"] == "statement: SELECT 'last'" for row in mine):
            break
        time.sleep(0.1)  # its writer is another process
    for row in mine:
        kind, _, statement = row["message"].partition(": ")
        if statement.startswith("COPY "):
            yield Sent(row["session_id"], statement, next(copied))
        elif kind == "statement":
            yield Sent(row["session_id"], statement, None)
        elif kind.startswith("execute "):
            found = VALUE.findall(row.get("detail", ""))
            yield Sent(row["session_id"], statement, [value(each) for each in found])


def value(logged: str) -> str | float | None:
    """A value as the driver wants it. PostgreSQL finds the types of texts by itself, but of some floats it cannot."""
    if logged == "NULL":
        return None
    return float(logged[1:-1]) if FLOAT.fullmatch(logged) else logged[1:-1].replace("''", "'")


def replay(directory: Filled, postgres: Any, first: list[Sent], sent: list[Sent]) -> Cost:
    """Send the statements, each prepared once, over as many connections as there were."""
    plain = make_url(directory.environment["DATABASE_URL"]).set(drivername="postgresql")
    conninfo = plain.render_as_string(hide_password=False)
    names = {each.session for each in (*first, *sent)}
    cursors = {name: psycopg.RawCursor(psycopg.connect(conninfo, autocommit=True)) for name in names}

    def send(statements: list[Sent]) -> None:
        for session, statement, values in statements:
            cursor = cursors[session]
            if values and statement.startswith("COPY "):
                with cursor.copy(statement) as copy:
                    for row in values:
                        copy.write_row(row)
                continue
            cursor.execute(statement, values, prepare=values is not None)
            if cursor.description:
                cursor.fetchall()

    send(first)
    began, own, database = time.perf_counter(), time.process_time(), cpu_seconds(postgres.pid)
    send(sent)
    took = time.perf_counter() - began, time.process_time() - own, cpu_seconds(postgres.pid) - database
    for cursor in cursors.values():
        cursor.connection.close()
    ms, own, database = (each / TIMES for each in took)
    return Cost(1e3 * ms, 1e6 * own, 1e6 * database)


def left(directory: Filled) -> Any:
    """Digests of the projects and of the log. Two databases with the same rows have the same digests."""
    with servers.connect(directory.environment["DATABASE_URL"]) as connection:
        return [
            connection.execute(f"SELECT md5(string_agg(each::text, ' ' ORDER BY id)) FROM {table} each").fetchone()
            for table in ("projects", "audit_entries")
        ]


def serve(directory: Filled, postgres: Any, operation: str, lines: list[str], given: Namespace) -> Cost:
    """What the service takes, with one connection."""
    with served("ours", directory, given) as server:
        pids = {"server": server.pid, "database": postgres.pid}
        row = changes.sent(operation, server.url, lines, seconds=given.seconds, connections=1, pids=pids)
    return Cost(1e3 / row["rps"], row["server_us"], row["database_us"])


if __name__ == "__main__":
    main()
