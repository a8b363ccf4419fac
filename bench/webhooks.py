"""The promises of webhooks, tested: `python -m bench.webhooks`, over SQLite and PostgreSQL, on loopback alone.

1. Many due deliveries, several deliverers: no try sent twice, and how many a second.
2. The time of an approval with a receiver that hangs, and with no receiver; the two take turns.

What becomes of approvals while deliverers are killed is a scenario of `make chaos`.
"""

import argparse
import http.client
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles

from flask import Flask

from directory.extensions import db
from tests.conftest import ENVIRONMENT, build, migrate
from tests.support import deliverers, servers
from tests.support.factories import World
from tests.support.outbox import endpoint, put, states
from tests.support.receiver import SECRET, Receiver, hang, status
from tests.support.serving import serving

BACKENDS = ("sqlite", "postgresql")


def together(app: Flask, settings: dict[str, str], due: int = 10_000) -> bool:
    """The first promise."""
    with Receiver(status(204, b"")) as receiver:
        with app.app_context():
            put(endpoint(receiver.url), due)
        with deliverers.running({**settings, **_sending_to(receiver)}, "--count", 8):
            receiver.wait(lambda r: r.arrived.total() > 0)
            began = time.monotonic()
            receiver.wait(lambda r: r.arrived.total() >= due, 600)
            seconds = time.monotonic() - began
            receiver.wait(lambda _: states(app) == {"delivered": due}, 60)
    twice = receiver.arrived.total() - len(receiver.arrived)
    _say(f"{due} due, 8 deliverers: {twice} tries sent twice, {due / seconds:.0f} deliveries a second")
    return twice == 0 and len(receiver.arrived) == due


def hanging(app: Flask, settings: dict[str, str], approvals: int = 400) -> bool:
    """The second. Three servers on one database take turns, so that what disturbs one disturbs all.

    Two of them are the same: the difference between these is noise.
    """
    world = World(app)
    owner, token = world.user(), world.caller(world.admin()).token
    projects = [world.project(owner, status="pending") for _ in range(3 * approvals)]
    with Receiver(hang()) as receiver, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        times: dict[str, list[float]] = {}
        ports: dict[str, int] = {}
        for name, more in (("none", {}), ("none, again", {}), ("one that hangs", _sending_to(receiver))):
            server = stack.enter_context(serving({**settings, **more}, Path(folder) / name))
            ports[name], times[name] = server.port, []
        for port in [*ports.values()] * 20:
            _get(port)
        for turn in range(approvals):
            for name in sorted(ports, key=lambda name: hash((turn, name))):
                times[name].append(_approval_by_http(ports[name], projects.pop(), str(token)))
        receiver.ending.set()
    for name, taken in times.items():
        cuts = quantiles(taken, n=100)
        _say(f"approve, receiver {name}: median {cuts[49]:.1f} ms, 99th percentile {cuts[98]:.1f} ms")
    return "delivered" not in states(app)


def _approval_by_http(port: int, project_id: int, token: str) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    began = time.perf_counter()
    path = f"/api/admin/projects/{project_id}/approve"
    connection.request("PUT", path, headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    answer.read()
    took = (time.perf_counter() - began) * 1000
    connection.close()
    assert answer.status == 200, answer.status
    return took


def _get(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/api/projects")
    connection.getresponse().read()
    connection.close()


def _sending_to(receiver: Receiver) -> dict[str, str]:
    return {"WEBHOOK_URL": receiver.url, "WEBHOOK_SECRET": SECRET}


def _say(line: str) -> None:
    print(f"  {line}", flush=True)


@contextmanager
def database(backend: str) -> Iterator[str]:
    """An empty database of that kind, gone at the end."""
    if backend == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/bench.db"
        return
    server = servers.url_of(servers.DATABASE)
    yield servers.create_database(server, "bench_webhooks")
    servers.drop_database(server, "bench_webhooks")


def measure(part: Callable[..., bool], url: str) -> bool:
    """Whether a promise is kept over an empty database."""
    migrate(url)
    app = build(url)
    kept = part(app, {**ENVIRONMENT, "DATABASE_URL": url, "LOG_LEVEL": "ERROR"})
    with app.app_context():
        db.engine.dispose()
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.webhooks", description=__doc__)
    parser.add_argument("--database", choices=BACKENDS, action="append", help="default: both")
    parser.add_argument("--part", choices=("1", "2"), action="append", help="default: all")
    given = parser.parse_args()
    parts = {"1": together, "2": hanging}
    failed = []
    for backend in given.database or BACKENDS:
        for number in given.part or parts:
            with database(backend) as url:
                print(f"{backend}, {number}:", flush=True)
                if not measure(parts[number], url):
                    failed.append(f"{backend}, {number}")
    sys.exit(f"not kept: {'; '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
