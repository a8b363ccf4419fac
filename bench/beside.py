"""Measures this checkout beside another one, in turns: python -m bench.beside FOLDER. Needs wrk.

The other checkout, usually an earlier commit, fills a database. This one migrates a copy of it. Both are served in
production form, by the same packages, and each operation is asked of both right after one another, in an order that
changes each round. What counts is the ratio, for the machine's pace changes from minute to minute. Where other work
goes on beside it, take the ratio of the CPU time of a request, the service's and PostgreSQL's together. Operations that
write (bench/changes.py) need the tables of both to be the same.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy.engine import make_url

from bench import changes
from bench.__main__ import DURABLE, ROOT, Filled, asked, served
from bench.filling import flask
from bench.load import GROWING, ONCE, OPERATIONS, SIGNED_IN, VISITED, Subjects
from tests.support import servers

PREPARE = (
    "import dataclasses, json, os; from bench.filling import prepare; "
    "print(json.dumps(dataclasses.asdict(prepare(os.environ['DATABASE_URL'], dict(os.environ)))))"
)


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the other checkout")
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=16)
    every = [*OPERATIONS, *ONCE, *SIGNED_IN, *VISITED, *GROWING]
    parser.add_argument("--ops", nargs="+", default=every, choices=[*every, *changes.WRITING])
    given = parser.parse_args(namespace=Namespace(out=ROOT / "bench" / ".run"))
    given.out.mkdir(parents=True, exist_ok=True)
    figures: dict[str, list[tuple[Figures, Figures]]] = {operation: [] for operation in given.ops}
    with ExitStack() as stack:
        postgres = stack.enter_context(servers.postgresql(**DURABLE))
        directories = fill(given, postgres.url, stack.enter_context(servers.redis()).url)
        for round_ in range(given.rounds + 1):
            done = play(round_, directories, given, postgres)
            for operation, pair in done.items() if round_ else ():  # the first fills the memories, and does not count
                figures[operation].append(pair)
    print(table(figures))


def fill(given: Namespace, url: str, redis_url: str) -> tuple[Filled, Filled]:
    """The directory as this checkout serves it, and as the other one does."""
    environment = {
        **os.environ, "DATABASE_URL": servers.create_database(url, "bench_before"), "REDIS_URL": redis_url,
        "RATELIMIT_ENABLED": "false", "WEB_CONCURRENCY": "2", "THREADS": "8", "LOG_LEVEL": "INFO",
        "REPORTS": "members",
        "SECRET_KEY": "of both, which read the cursors of the other",
    }  # fmt: skip
    other = given.folder.resolve()
    run(other, environment, "-m", "flask", "db", "upgrade")
    run(other, environment, "-m", "flask", "seed", "--projects", str(given.size))
    subjects = Subjects(**json.loads(run(other, environment, "-c", PREPARE).splitlines()[-1]))
    before = Filled(given.size, environment, subjects, other)
    copy = servers.create_database(url, "bench_ours", template=str(make_url(environment["DATABASE_URL"]).database))
    ours = Filled(given.size, {**environment, "DATABASE_URL": copy}, subjects)
    flask(ours.environment, "db", "upgrade")
    return ours, before


def run(checkout: Path, environment: dict[str, str], *command: str) -> str:
    """What Python prints in a checkout. Raises SystemExit with what it said where it fails."""
    env = {**environment, "PYTHONPATH": str(checkout), "LOG_LEVEL": "WARNING"}
    done = subprocess.run([sys.executable, *command], env=env, cwd=checkout, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{checkout}: {' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


class Figures(NamedTuple):
    """What an operation takes: requests a second, and microseconds of CPU time a request; None where not measured."""

    rps: float
    cpu: float | None


def play(
    round_: int, directories: tuple[Filled, Filled], given: Any, postgres: Any
) -> dict[str, tuple[Figures, Figures]]:
    """A round: the figures of each operation, here and there. Both have to count right afterwards."""
    figures: dict[str, tuple[Figures, Figures]] = {}
    with ExitStack() as stack:
        both = [
            stack.enter_context(served(name, directory, given))
            for name, directory in zip(("ours", "before"), directories, strict=True)
        ]
        for n, operation in enumerate(given.ops):
            order = both[:: 1 if (round_ + n) % 2 else -1]
            found = {server.name: figures_of(asked(operation, server, given, postgres)) for server in order}
            figures[operation] = pair = found["ours"], found["before"]
            print(f"round {round_} {operation:16} {pair[0].rps:10,.1f} {pair[1].rps:10,.1f} {ratios(pair)}", flush=True)
    for directory in directories:
        run(directory.root, directory.environment, "-m", "flask", "recount", "--check")
    return figures


def figures_of(row: dict[str, Any]) -> Figures:
    """Those of an operation on one server."""
    return Figures(row["rps"], row["server_us"] + row["database_us"] if "server_us" in row else None)


def ratios(pair: tuple[Figures, Figures]) -> str:
    """By how much it is faster here, by the rate and by CPU time; over 1 is faster."""
    here, there = pair
    by_cpu = f"{there.cpu / here.cpu:.2f}" if here.cpu and there.cpu else "-"
    return f"{here.rps / there.rps:.2f}/{by_cpu}"


def table(figures: dict[str, list[tuple[Figures, Figures]]]) -> str:
    """Medians, and the ratios of the medians and of each round, by the rate and by CPU time."""
    lines = ["| operation | here/s | there/s | here µs | there µs | ratios | rounds |", "|---|---|---|---|---|---|---|"]
    for operation, pairs in figures.items():
        here, there = (median_of(each) for each in zip(*pairs, strict=True))
        spent = " | ".join("-" if each.cpu is None else f"{each.cpu:,.0f}" for each in (here, there))
        rounds = " ".join(map(ratios, pairs))
        lines.append(
            f"| {operation} | {here.rps:,.1f} | {there.rps:,.1f} | {spent} | {ratios((here, there))} | {rounds} |"
        )
    return "\n".join(lines)


def median_of(several: Sequence[Figures]) -> Figures:
    """The median of each figure."""
    spent = [each.cpu for each in several if each.cpu is not None]
    return Figures(statistics.median(each.rps for each in several), statistics.median(spent) if spent else None)


if __name__ == "__main__":
    main()
