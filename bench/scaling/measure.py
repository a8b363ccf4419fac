"""Measures what the model is made of and held against: python -m bench.scaling.measure --database URL --out FILE.

Over `bench_100000` of a PostgreSQL that runs already with track_wal_io_timing=on (see `python -m bench --database`),
with the pages built by `make web`. A round is the base costs, of one process asked by 1 and by 32 connections, for
votes by 8, and then the points that the model is held against: one and two processes asked by 16, PostgreSQL near and a
millisecond away.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psutil
import requests as http
from sqlalchemy.engine import make_url

from bench.__main__ import ROOT, Running
from bench.distance import distance
from bench.filling import prepare
from bench.load import Subjects, _wrk, cpu_seconds, requests, wait_for
from bench.scaling.derive import ONE, many
from tests.support import servers
from tests.support.processes import free_port

FIRST_PAGE = "GET /api/projects?status=live&sort=newest&page=1&limit=20 -"
BASE = ("list", "one", "vote", "list_fresh", "session", "asset", "mixed")
HELD = ("list", "one", "vote", "vote_hot", "mixed", "news")
Point = dict[str, Any]


def lines(operation: str, subjects: Subjects, hot: int, asset: str) -> list[str]:
    """The lines for replay.lua; `hot` is a project of the first page."""
    rng = random.Random(f"7-{operation}")

    def vote() -> str:
        return f"POST /api/projects/{hot}/upvote {rng.choice(subjects.tokens)}"

    if operation in {"list", "one", "vote", "mixed"}:
        return requests(operation, subjects)
    if operation == "list_fresh":  # a page right after a vote for one of its projects
        return [line for _ in range(500) for line in (vote(), FIRST_PAGE)]
    if operation == "vote_hot":
        return [vote() for _ in range(20_000)]
    if operation == "news":
        return [vote() if rng.random() < 0.05 else FIRST_PAGE for _ in range(20_000)]
    return [{"session": "GET /api/session -", "asset": f"GET {asset} -"}[operation]]


@contextmanager
def served(url: str, processes: int, log: Path) -> Iterator[tuple[str, int]]:
    """The address and the process id of a server in production form, without rate limits."""
    port = free_port()
    environment = {
        **os.environ, "DATABASE_URL": url, "RATELIMIT_ENABLED": "false", "WEB_CONCURRENCY": str(processes),
        "THREADS": "8", "LOG_LEVEL": "INFO", "PYTHONPATH": str(ROOT), "PORT": str(port),
    }  # fmt: skip
    command = [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "wsgi:app"]
    with log.open("ab") as file:
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=file, stderr=file)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address, process)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait(30)


class Meter:
    """Replays requests and reads what they took: by party CPU, waits of PostgreSQL's processes, flushes of its log."""

    def __init__(self, url: str, database: Running, seconds: int) -> None:
        self._url, self._database, self._seconds = url, database, seconds

    def __call__(self, address: str, pids: dict[str, int], replayed: list[str], connections: int) -> Point:
        """One point: requests a second, and microseconds and waits for a request."""
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(replayed) + "\n")
            file.flush()
            _wrk(address, file.name, 1, connections)
            self._use_tokens()
            before = self._read(pids)
            found = _wrk(address, file.name, self._seconds, connections)
            used = {name: value - before[name] for name, value in self._read(pids).items()}
        point = {name: 1e6 * used[name] / found["requests"] for name in ("client", *pids)}
        syncs, spent = used.pop("syncs"), used.pop("sync_seconds")
        return point | {
            "rps": found["requests"] / found["seconds"], "p50_ms": found["p50_ms"], "errors": found["errors"],
            "waits": used["waits"] / found["requests"], "flush_us": 1e6 * spent / syncs if syncs else 0.0,
        }  # fmt: skip

    def _use_tokens(self) -> None:
        """Record a use of all tokens, which the service does every five minutes: no point pays for it."""
        with servers.connect(self._url) as connection:
            connection.execute("UPDATE tokens SET last_used_at = now()")

    def _read(self, pids: dict[str, int]) -> dict[str, float]:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        tree = [psutil.Process(self._database.pid), *psutil.Process(self._database.pid).children()]
        with servers.connect(self._database.url) as connection:
            row = connection.execute("SELECT wal_sync, wal_sync_time FROM pg_stat_wal").fetchone() or (0, 0.0)
        return {name: cpu_seconds(pid) for name, pid in pids.items()} | {
            "client": children.ru_utime + children.ru_stime, "syncs": row[0], "sync_seconds": row[1] / 1000,
            "waits": sum(map(_waits, tree)),
        }  # fmt: skip


def _waits(process: psutil.Process) -> int:
    """How often a process has waited; 0 for one that has ended meanwhile, such as PostgreSQL's for a vacuum."""
    try:
        return int(process.num_ctx_switches().voluntary)
    except psutil.NoSuchProcess:
        return 0


def run(url: str, subjects: Subjects, out: Path, *, rounds: int, seconds: int) -> list[Point]:
    """All points of all rounds, which are also written to `out`."""
    database, log = Running(url), out.with_suffix(".log")
    meter, points = Meter(url, database, seconds), list[Point]()
    for round_ in range(rounds):
        for milliseconds in (0.0, 1.0):
            far = distance(make_url(url).port or 5432, milliseconds) if milliseconds else nullcontext(None)
            with far as port:
                place = url if port is None else make_url(url).set(port=port).render_as_string(hide_password=False)
                pids = {"database": database.pid} | ({} if port is None else {"proxy": _listener(port)})
                for processes in (1, 2):
                    with served(place, processes, log) as (address, pid):
                        plan = [(op, 16) for op in HELD]
                        if processes == 1 and not milliseconds:
                            plan = [(op, connections) for op in BASE for connections in (ONE, many(op))] + plan
                        for operation, connections in plan:
                            replayed = lines(operation, subjects, *_shown(address))
                            point = meter(address, {"server": pid, **pids}, replayed, connections)
                            base = {"round": round_, "op": operation, "processes": processes, "ms": milliseconds}
                            points.append(base | {"connections": connections} | point)
                            print(json.dumps(points[-1]), flush=True)
                            out.write_text(json.dumps(points, indent=1))
    return points


def _listener(port: int) -> int:
    """The process that listens on a port."""
    return next(
        int(c.pid) for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr.port == port and c.pid
    )


def _shown(address: str) -> tuple[int, str]:
    """A project of the first page, and a file of the pages."""
    first = http.get(f"{address}/api/projects", timeout=30).json()["items"][0]["id"]
    html = http.get(f"{address}/", headers={"Accept": "text/html"}, timeout=30).text
    return first, "/assets/" + html.partition('src="/assets/')[2].partition('"')[0]


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / ".run" / "scaling.json")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    url = make_url(given.database).set(database="bench_100000").render_as_string(hide_password=False)
    subjects = prepare(url, {**os.environ, "DATABASE_URL": url, "RATELIMIT_ENABLED": "false"})
    run(url, subjects, given.out, rounds=given.rounds, seconds=given.seconds)


if __name__ == "__main__":
    main()
