"""Measures what operations store and write on PostgreSQL: python -m bench.writes --sizes 1000 100000.

For each size it starts a PostgreSQL of its own, fills a directory, and lets members vote, submit and register and an
administrator approve, by requests to the application in this process. It prints two tables for docs/scaling.md: the
bytes of the rows and indexes of a project, a user and a vote, and the bytes that an operation adds to the log.
"""

import argparse
import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from flask import Flask

import config
from bench.__main__ import DURABLE
from bench.changes import PASSWORD, submission
from bench.filling import flask, prepare
from bench.load import Subjects
from directory import create_app
from directory.extensions import db
from tests.support import servers
from tests.support.factories import Api

# A statement that counts the projects, users or votes, and the tables that have rows for each of them.
STORED = {
    "a project": (
        "SELECT count(*) FROM projects",
        ("projects", "standings", "project_tags", "project_search", "audit_entries", "messages", "rule_facts"),
    ),
    "a user": ("SELECT count(*) FROM users", ("users",)),
    "a vote": ("SELECT count(*) FROM upvotes", ("upvotes",)),
}
TIMES, REGISTRATIONS = 500, 20  # a password's hash takes most of a registration
HEADER = "| {} | {} |\n|---|{}"


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000])
    sizes = parser.parse_args().sizes
    stored, written = [], []
    for size in sizes:
        with servers.postgresql(**DURABLE, autovacuum="off") as postgres:
            url = servers.create_database(postgres.url, f"bench_{size}")
            environment = {
                **os.environ, "DATABASE_URL": url, "RATELIMIT_ENABLED": "false", "LOG_LEVEL": "ERROR",
                "APP_ENV": "testing", "SECRET_KEY": "0" * 40,
            }  # fmt: skip
            flask(environment, "db", "upgrade")
            flask(environment, "seed", "--projects", str(size))
            subjects = prepare(url, environment)
            stored.append(rows(url))
            app = create_app(config.load(environment))
            written.append(dict(operations(app, url, subjects)))
            with app.app_context():
                db.engine.dispose()
    print(table("bytes of rows + indexes", sizes, stored))
    print(table("bytes of records + bytes of full pages in the WAL", sizes, written))


def rows(url: str) -> dict[str, tuple[float, float]]:
    """Bytes of tables and of their indexes for each project, user and vote."""
    found = {}
    with servers.connect(url) as connection:
        for name, (counted, tables) in STORED.items():
            sums = ", ".join(f"sum(pg_{kind}_size(name::regclass))" for kind in ("table", "indexes"))
            statement = f"SELECT {sums}, ({counted}) FROM unnest(%s::text[]) AS name"
            in_tables, in_indexes, number = connection.execute(statement, [[*tables]]).fetchone() or (0, 0, 1)
            found[name] = (in_tables / number, in_indexes / number)
    return found


def operations(app: Flask, url: str, subjects: Subjects) -> Iterator[tuple[str, tuple[float, float]]]:
    """Each operation's name, and the bytes of its records and of its full pages."""
    members = [Api(app, secret) for secret in subjects.tokens]
    spread = subjects.live[:: max(1, len(subjects.live) // TIMES)][:TIMES]
    submitted: list[int] = []
    numbers = count(1)

    def vote(member: Api, project: int) -> Any:
        return member.post(f"/api/projects/{project}/upvote")

    def submit(member: Api) -> Any:
        answer = member.post("/api/projects", submission(subjects.categories[0]))
        submitted.append(answer.json["id"])
        return answer

    def register() -> Any:
        name = f"measured{next(numbers)}"
        account = {"username": name, "email": f"{name}@measured.example", "password": PASSWORD}
        return Api(app).post("/api/auth/register", account)

    admin = Api(app, subjects.admin)
    each = [members[n % len(members)] for n in range(TIMES)]
    plan: dict[str, list[Callable[[], Any]]] = {
        "vote, pages not touched since the checkpoint": [
            lambda m=m, p=p: vote(m, p)
            for m, p in zip(each, spread, strict=False)  # type: ignore[misc]
        ],
        "vote, the same projects again": [
            lambda m=m, p=p: vote(m, p)
            for m, p in zip(each[1:] + each[:1], spread, strict=False)  # type: ignore[misc]
        ],
        "vote, one project": [lambda m=m: vote(m, spread[0]) for m in each[1:]],  # type: ignore[misc]
        "submission": [lambda m=m: submit(m) for m in each],  # type: ignore[misc]
        "approval": [
            lambda n=n: admin.put(f"/api/admin/projects/{submitted[n]}/approve")  # type: ignore[misc]
            for n in range(TIMES)
        ],
        "registration": [register] * REGISTRATIONS,
    }
    with servers.connect(url) as connection:
        connection.execute("CHECKPOINT")  # after it, the first write of a page puts the whole page into the log
    for name, requests in plan.items():
        start = position(url)
        for request in requests:
            answer = request()
            assert answer.status_code < 300, answer.text
        yield name, log(url, start, position(url), len(requests))


def position(url: str) -> str:
    """Where the log ends."""
    with servers.connect(url) as connection:
        return str((connection.execute("SELECT pg_current_wal_flush_lsn()").fetchone() or ("",))[0])


def log(url: str, start: str, end: str, times: int) -> tuple[float, float]:
    """Bytes of records and of full pages between two places of the log, by time."""
    with servers.connect(url) as connection:
        data = Path((connection.execute("SHOW data_directory").fetchone() or ("",))[0])
        program = Path((connection.execute("SELECT pg_read_file('postmaster.opts')").fetchone() or ("",))[0].split()[0])
    command = [program.with_name("pg_waldump"), "--stats", "-p", data / "pg_wal", "-s", start, "-e", end]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    total = next(line for line in printed.splitlines() if line.startswith("Total"))
    # "Total   2040   182330 [64.09%]   102156 [35.91%]   284486 [100%]": how many, records, full pages, both.
    records, pages = [int(part) for part in total.split() if part.isdecimal()][1:3]
    return records / times, pages / times


def table(title: str, sizes: list[int], found: list[dict[str, tuple[float, float]]]) -> str:
    """A Markdown table with a column for each size."""
    lines = [HEADER.format(title, " | ".join(f"{size:,}" for size in sizes), "---|" * len(sizes))]
    for name in found[0]:
        lines.append(f"| {name} | " + " | ".join(f"{a[name][0]:,.0f} + {a[name][1]:,.0f}" for a in found) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
