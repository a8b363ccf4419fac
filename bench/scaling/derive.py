"""The constants of the model from what was measured: python -m bench.scaling.derive FILE, of `bench.scaling.measure`.

What an iteration, a statement or a batch costs is shared by all requests in it, so two numbers of connections tell it
from what each request costs. How many requests share it is the ratio of the waits of PostgreSQL's processes.
"""

import json
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.scaling.costs import US, Costs

ONE, MANY, BATCH = 1, 32, 8  # connections; votes come with BATCH, as many as two processes of the bench have in a batch
ITERATION, SEND = 20.0, 20.0  # microseconds, assumed: the sums below contain them, so that only their split is


def many(operation: str) -> int:
    """The connections that an operation was measured with, beside one."""
    return BATCH if operation == "vote" else MANY


class Base:
    """The base points: means of the rounds, in microseconds.

    A point is left out that made PostgreSQL wait more than twice as often as in another round: something else was at
    work on the machine.
    """

    def __init__(self, points: list[dict[str, Any]]) -> None:
        self._points = [each for each in points if each["processes"] == 1 and not each["ms"]]

    def __call__(self, name: str, operation: str, connections: int) -> float:
        """The mean of one value."""
        found = [each for each in self._points if (each["op"], each["connections"]) == (operation, connections)]
        most = 2 * min(each["waits"] for each in found) + 0.1
        return statistics.fmean(each[name] for each in found if each["waits"] <= most)

    def flush(self) -> float:
        """The mean length of a flush, of all base points that flush."""
        base = (each["flush_us"] for each in self._points if each["connections"] in {ONE, BATCH, MANY})
        return statistics.fmean(value for value in base if value)

    def together(self, operation: str) -> float:
        """How many requests share a statement when many ask at once."""
        return self("waits", operation, ONE) / self("waits", operation, many(operation))

    def shared(self, name: str, operation: str) -> tuple[float, float]:
        """What is shared by all requests of an iteration, and what each takes."""
        alone, together = self(name, operation, ONE), self(name, operation, many(operation))
        shared = (alone - together) / (1 - 1 / self.together(operation))
        return shared, alone - shared


def derive(points: list[dict[str, Any]]) -> Costs:
    """The constants."""
    base = Base(points)
    snapshot, stored = base.shared("server", "list")
    rows_app, row = base.shared("server", "one")
    rows_database, row_database = base.shared("database", "one")
    batch, vote = base.shared("server", "vote")
    batch_database, vote_database = base.shared("database", "vote")
    snapshot_database = base("database", "list", ONE)
    page = 2 * base("server", "list_fresh", ONE) - base("server", "vote", ONE) - snapshot - ITERATION - SEND
    page_database = 2 * base("database", "list_fresh", ONE) - base("database", "vote", ONE) - snapshot_database
    far = [each for each in points if each["ms"] and each["op"] == "list" and each["processes"] == 1]
    micro: dict[str, Any] = {
        "client": base("client", "list", MANY), "client_vote": base("client", "vote", BATCH), "iteration": ITERATION,
        "snapshot": snapshot - ITERATION, "snapshot_database": snapshot_database, "stored": stored,
        "rows_app": rows_app - ITERATION, "rows_database": rows_database, "row": row, "row_database": row_database,
        "page": page, "page_database": page_database, "send": SEND, "batch": batch - 2 * ITERATION,
        "batch_database": batch_database, "vote": vote - SEND, "vote_database": 0.85 * vote_database,
        "lookup_database": 0.15 * vote_database,
        "proxy": statistics.fmean(each["proxy"] / each["waits"] / 2 for each in far),
        "flush": base.flush(), "session": base("server", "session", MANY) - SEND,
        "asset": base("server", "asset", MANY) - SEND,
    }  # fmt: skip
    return replace(Costs(), **{name: value * US for name, value in micro.items()})


def pages_made(points: list[dict[str, Any]], costs: Costs) -> float:
    """Of `mixed` with one connection, the pages that were made for a request."""
    base = Base(points)
    parts = {"list": 0.7, "one": 0.2, "vote": 0.1}
    without = sum(share * base("server", operation, ONE) for operation, share in parts.items())
    return (base("server", "mixed", ONE) - without) * US / (costs.page + costs.send + costs.iteration)


if __name__ == "__main__":
    measured = json.loads(Path(sys.argv[1]).read_text())
    found = derive(measured)
    seconds = {name: value for name, value in vars(found).items() if name != "redis_trips"}
    print(*(f"{name}: {value / US:,.1f} us" for name, value in seconds.items()), sep="\n")
    print(f"pages made for a request of mixed: {pages_made(measured, found):.4f}")
    keys = dict.fromkeys((each["op"], each["processes"], each["ms"]) for each in measured if each["connections"] == 16)
    for key in keys:
        rates = [e["rps"] for e in measured if (e["op"], e["processes"], e["ms"]) == key and e["connections"] == 16]
        rounds = ", ".join(f"{rate:_.0f}" for rate in rates)
        print(f'    Held("{key[0]}", {key[1]}, {key[2]:g}, ({rounds})),')
