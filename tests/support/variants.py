"""More ways to run the suite: on gunicorn's own worker, without the response cache, and through a connection pooler.

`SERVER_WORKER=gthread make test` and `RESPONSE_CACHE=false make test` hold for every application and every server that
the tests start. A test that needs our worker or the cache has the mark `our_worker(...)`, with a key of OUR_WORKER, or
`response_cache`; such a run leaves it out, and `pytest -rs` prints the reason that stands here. With
`TEST_POOLER=pgbouncer make test` applications reach PostgreSQL through PgBouncer (tests/support/pooler.py); a test that
has to reach it directly has the mark `direct(...)` with the reason. `.ci/run` does all of this, the last
in part.

A run also says on which databases a test runs that can run on each (`databases_of`). `make test` names SQLite. `make
check` names SQLite too, and the folders whose tests run on both, as the slow tests do, which no other run has.
"""

import os
from typing import Any

import pytest

import config
from tests.support import extras

ENVIRONMENT = {
    "APP_ENV": "testing",
    "SECRET_KEY": "0f1e2d3c4b5a69788796" * 2,
    "LOG_LEVEL": "WARNING",
    "RATELIMIT_ENABLED": "false",
}
# Settings that a whole run of the suite may take from the environment.
OF_THE_RUN = {name: os.environ[name] for name in ("EXTRAS", "RESPONSE_CACHE", "SERVER_WORKER") if name in os.environ}

# Tests of whole servers and of browsers, and tables of all routes, with each caller or with hostile texts.
NOT_COUNTED = tuple(
    f"tests/{place}"
    for place in ("system/", "web/", "api/test_access.py", "http/test_budget.py", "http/test_hostile.py")
)
ON_POSTGRESQL = tuple(f"tests/{place}/" for place in ("services", "db", "cli", "runtime"))
BACKENDS = ("sqlite", "postgresql")
NO_CACHE = "the response cache is off"
OUR_WORKER = {
    "balancing": "gunicorn's own worker does not balance connections between processes",
    "descriptors": "gunicorn's own worker ends where it can open no more files",
    "shutdown": "gunicorn's own worker ends without an answer on some connections that were accepted before",
    "slow clients": "with gunicorn's own worker an unfinished request holds a thread",
}


def reason_to_skip(item: pytest.Item) -> str | None:
    """Why this run leaves a test out; None where it runs. Raises KeyError where a mark gives no known reason."""
    if item.get_closest_marker("response_cache") and not _setting("RESPONSE_CACHE"):
        return NO_CACHE
    if marker := item.get_closest_marker("our_worker"):
        reason = OUR_WORKER[marker.args[0]]
        if _setting("SERVER_WORKER") == "gthread":
            return reason
    needed = marker.args if (marker := item.get_closest_marker("extra")) else ()
    if off := next((name for name in needed if name not in extras.ON), None):
        return f"the extra {off} is off"
    if (marker := item.get_closest_marker("direct")) and os.environ.get("TEST_POOLER"):
        return f"not through a connection pooler: {marker.args[0]}"
    return None


def databases_of(item: pytest.Item) -> list[str]:
    """On which databases a test runs that can run on each: both, or those that the run names."""
    named, on_both = (os.environ.get(name, "").split() for name in ("TEST_DATABASES", "TEST_ON_BOTH"))
    folder = item.nodeid.partition("::")[0].rpartition("/")[0]
    if f"{folder}/".startswith(tuple(f"{each}/" for each in on_both)) or (on_both and item.get_closest_marker("slow")):
        return [*BACKENDS]
    return named or [*BACKENDS]


def counts(item: pytest.Item) -> bool:
    """Whether `make check` measures the coverage of a test (tests/support/probes.py).

    It does not where others reach the same lines for less: of slow tests, of those of NOT_COUNTED, and on PostgreSQL of
    those outside of ON_POSTGRESQL, whose subject differs by the database. They run by themselves, with --counted=no:
    in one process they would fill memories, such as those of prepared statements, that the others are to fill.
    """
    file = item.nodeid.partition("::")[0]
    if item.get_closest_marker("slow") or file.startswith(NOT_COUNTED):
        return False
    return "postgresql" not in item.nodeid or file.startswith(ON_POSTGRESQL)


def _setting(name: str) -> Any:
    """The value of a setting in this run."""
    return config.load({**ENVIRONMENT, **OF_THE_RUN})[name]
