"""The settings of a run of the suite, SERVER_WORKER and RESPONSE_CACHE, reach what the tests start and ask."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask

from directory.extensions import db
from directory.server import WORKER_CLASSES
from tests.support import extras, pooler, variants
from tests.support.serving import ROOT, serving
from tests.support.variants import ENVIRONMENT, NO_CACHE, OUR_WORKER, reason_to_skip

WORKER = os.environ.get("SERVER_WORKER") or "loop"
CACHED = (os.environ.get("RESPONSE_CACHE") or "true") == "true"
# The application of a server that prints whether it has a response cache.
PROGRAM = "from wsgi import app\nprint('cached:', 'response_cache' in app.extensions, flush=True)\n"


def test_an_application_has_the_cache_that_the_run_asks_for(app: Flask) -> None:
    assert ("response_cache" in app.extensions) == CACHED


def test_a_server_has_the_worker_and_the_cache_that_the_run_asks_for(tmp_path: Path) -> None:
    (tmp_path / "reporting.py").write_text(PROGRAM)
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    settings = {**ENVIRONMENT, "DATABASE_URL": f"sqlite:///{tmp_path / 'x.db'}", "LOG_LEVEL": "INFO"}
    with serving({**settings, "PYTHONPATH": paths}, tmp_path / "log", "reporting:app") as server:
        log = server.log.read_text()
    assert re.findall(r"Using worker: ([\w.]+)", log) == [WORKER_CLASSES[WORKER]]
    assert f"cached: {CACHED}" in log


class Marked:
    """A test with some marks."""

    def __init__(self, **marks: str) -> None:
        self.marks = marks

    def get_closest_marker(self, name: str) -> Any:
        return SimpleNamespace(args=(self.marks[name],)) if name in self.marks else None


@pytest.mark.parametrize(
    ("settings", "marks", "reason"),
    [
        ({}, {"response_cache": "", "our_worker": "shutdown"}, None),
        ({"RESPONSE_CACHE": "false"}, {"response_cache": ""}, NO_CACHE),
        ({"RESPONSE_CACHE": "false"}, {"our_worker": "shutdown"}, None),
        ({"SERVER_WORKER": "gthread"}, {"our_worker": "shutdown"}, OUR_WORKER["shutdown"]),
        ({"SERVER_WORKER": "gthread"}, {"response_cache": ""}, None),
        ({}, {"extra": "observability"}, None if extras.ON else "the extra observability is off"),
        ({}, {"extra": "another"}, "the extra another is off"),
    ],
)
def test_a_run_leaves_out_only_what_its_settings_rule_out(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], marks: dict[str, str], reason: str | None
) -> None:
    monkeypatch.setattr(variants, "OF_THE_RUN", settings)
    item: Any = Marked(**marks)
    assert reason_to_skip(item) == reason


def test_a_run_through_a_pooler_leaves_out_what_has_to_reach_the_server_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    item: Any = Marked(direct="migrates")
    monkeypatch.delenv(pooler.VARIABLE, raising=False)
    assert reason_to_skip(item) is None
    monkeypatch.setenv(pooler.VARIABLE, "pgbouncer")
    assert reason_to_skip(item) == "not through a connection pooler: migrates"


@pytest.mark.parametrize(
    ("named", "on_both", "slow", "databases"),
    [
        ("", "", False, ["sqlite", "postgresql"]),
        ("postgresql", "", False, ["postgresql"]),
        ("sqlite", "", True, ["sqlite"]),
        ("sqlite", "tests/db tests/ap", False, ["sqlite"]),
        ("sqlite", "tests/db tests/api", False, ["sqlite", "postgresql"]),
        ("sqlite", "tests/db", True, ["sqlite", "postgresql"]),
        ("sqlite", "tests", False, ["sqlite", "postgresql"]),
    ],
)
def test_a_run_says_on_which_databases_a_test_runs(
    monkeypatch: pytest.MonkeyPatch, named: str, on_both: str, slow: bool, databases: list[str]
) -> None:
    monkeypatch.setenv("TEST_DATABASES", named)
    monkeypatch.setenv("TEST_ON_BOTH", on_both)
    item: Any = Marked(**({"slow": ""} if slow else {}))
    item.nodeid = "tests/api/test_listing.py::test_it"
    assert variants.databases_of(item) == databases


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_an_application_reaches_postgresql_by_the_way_of_the_run(app: Flask) -> None:
    with app.app_context(), db.engine.connect() as connection:
        assert connection.connection.dbapi_connection.is_pooled is bool(os.environ.get(pooler.VARIABLE))  # type: ignore[union-attr]


# A make that prints what it is asked for, and with which settings, and fails where the file FAILS has such a line.
MAKE = """#!/bin/sh
settings='SERVER_WORKER|RESPONSE_CACHE|EXTRAS|TEST_POOLER|LEFT_OUT|DATABASES|REPEAT_FAILED'
asked="$(env | sed -nE "s/^($settings)=/&/p" | sort -r) $1"
echo $asked
! grep -qxF -- "$(echo $asked)" "$FAILS"
"""
CHECK, BOTH, GTHREAD, NO_CACHE_RUN, POOLED = (
    "REPEAT_FAILED=1 LEFT_OUT= DATABASES= check",
    *(
        f"{settings} REPEAT_FAILED=1 LEFT_OUT= DATABASES={databases} test"
        for settings, databases in (
            ("SERVER_WORKER=gthread RESPONSE_CACHE=false", "postgresql"), ("SERVER_WORKER=gthread", "sqlite"),
            ("RESPONSE_CACHE=false", "sqlite"), ("TEST_POOLER=pgbouncer", ""),
        )
    ),
)  # fmt: skip
NO_EXTRAS = "REPEAT_FAILED=1 LEFT_OUT= EXTRAS=none DATABASES=sqlite test"
AFTER_BOTH = [GTHREAD, NO_CACHE_RUN, NO_EXTRAS, POOLED]


@pytest.mark.parametrize(
    ("fails", "steps", "passes"),
    [
        ([], [CHECK, BOTH, *AFTER_BOTH], True),
        ([CHECK], [CHECK], False),
        ([NO_CACHE_RUN], [CHECK, BOTH, GTHREAD, NO_CACHE_RUN], False),
    ],
)
def test_ci_runs_the_suite_each_way(tmp_path: Path, fails: list[str], steps: list[str], passes: bool) -> None:
    (tmp_path / "make").write_text(MAKE)
    (tmp_path / "make").chmod(0o755)
    (tmp_path / "fails").write_text("".join(f"{line}\n" for line in fails))
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "FAILS": str(tmp_path / "fails")}
    ran = subprocess.run([ROOT / ".ci" / "run"], env=env, capture_output=True, text=True, check=False)
    steps = ["REPEAT_FAILED=1 LEFT_OUT= DATABASES= servers", *steps]
    assert (ran.stdout.splitlines(), ran.returncode == 0) == (steps, passes)


@pytest.mark.parametrize(("target", "runs"), [("check", 2), ("test", 1)])
@pytest.mark.parametrize("repeat", ["", "1"])
def test_a_run_repeats_what_failed_if_it_is_asked_to(target: str, runs: int, repeat: str) -> None:
    command = ["make", "-n", target, f"REPEAT_FAILED={repeat}"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.count("--last-failed ") == (runs if repeat else 0)


def test_make_check_has_each_test_in_one_of_its_two_runs() -> None:
    listed = ["-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q", "tests/cache/test_validity.py"]
    found = [
        {line for line in _output([sys.executable, *listed, *half]).splitlines() if "::" in line}
        for half in ([], ["--counted=yes"], ["--counted=no"])
    ]
    assert found[1] | found[2] == found[0]
    assert [bool(each) for each in (found[1], found[2], found[1] & found[2])] == [True, True, False]


def _output(command: list[str]) -> str:
    # Of this run's databases it knows nothing: with PostgreSQL alone no test of the cache would be counted.
    env = {name: value for name, value in os.environ.items() if not name.startswith("TEST_")}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
