"""The promises about faults, tried briefly. `make chaos` tries them for minutes and prints what it saw."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.servers import or_skip
from tests.support.serving import ROOT, WITHIN
from tests.system import chaos
from tests.system.chaos import Outcome, Scenario, scenarios
from tests.system.chaos.__main__ import INTERRUPTED, main
from tests.system.chaos.stage import ended


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario", [each for each in scenarios() if each.in_suite], ids=lambda scenario: scenario.name
)
def test_what_is_promised_holds(scenario: Scenario) -> None:
    with or_skip():
        outcome = scenario.play(**scenario.short)
    assert outcome.done
    assert outcome.seen


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> list[Scenario]:
    """Scenarios in place of the real ones."""
    found: list[Scenario] = []
    monkeypatch.setattr("tests.system.chaos.__main__.scenarios", lambda: found)
    monkeypatch.setattr("tests.system.chaos.__main__.passwords.configure", lambda *_: None)
    return found


def held(kills: int) -> Outcome:
    return Outcome(f"{kills} kills", "0 lost | all there")


def broken(kills: int) -> Outcome:
    raise AssertionError(f"{kills} lost")


def test_the_table_tells_what_was_done_promised_and_seen(staged: list[Scenario], capsys: Any) -> None:
    staged.append(Scenario("kill", "nothing lost", held, {"kills": 2}, {"kills": 200}))
    assert main([]) == 0
    assert "| kill | 200 kills | nothing lost | 0 lost / all there | 0 | pass |" in capsys.readouterr().out
    assert main(["--short", "kil"]) == 0
    assert "| 2 kills |" in capsys.readouterr().out


def test_a_broken_promise_fails_and_the_other_scenarios_run(staged: list[Scenario], capsys: Any) -> None:
    for name, play in (("first", broken), ("second", held)):
        staged.append(Scenario(name, "nothing lost", play, {}, {"kills": 3}))
    assert main([]) == 1
    table = capsys.readouterr().out
    assert "| first |  | nothing lost | AssertionError: 3 lost | 0 | FAIL |" in table
    assert "| second | 3 kills |" in table


def littering() -> Outcome:
    Path(tempfile.mkdtemp(prefix="litter-"))
    subprocess.run("/bin/sleep 60 &", shell=True, check=True)
    return Outcome("littered", "all well")


def test_a_scenario_that_leaves_something_behind_fails_and_it_is_removed(staged: list[Scenario], capsys: Any) -> None:
    staged.append(Scenario("litter", "nothing left", littering, {}, {}))
    assert main([]) == 1
    assert re.search(r"all well; left behind: process \d+: /bin/sleep 60, litter-", capsys.readouterr().out)


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_leaves_nothing_behind(tmp_path: Path, by: int) -> None:
    command = [sys.executable, "-m", "tests.system.chaos", "mid-write, on SQLite"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    run = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    give_up = time.monotonic() + WITHIN
    while not [one for one in tmp_path.glob("*/*/ledger") if one.read_bytes().count(b"toggle")]:
        assert time.monotonic() < give_up
        time.sleep(0.05)
    family = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(by)
    assert run.communicate(timeout=WITHIN)[0].startswith(b"| fault |")
    assert run.returncode == INTERRUPTED
    assert list(tmp_path.iterdir()) == []
    assert family
    ended(family, 5)


def test_a_run_without_scenarios_fails(staged: list[Scenario]) -> None:
    staged.append(Scenario("kill", "nothing lost", held, {"kills": 2}, {"kills": 200}))
    assert main(["earthquake"]) == 1


def test_scenarios_are_found_wherever_they_stand_in_the_package() -> None:
    modules = {scenario.play.__module__ for scenario in scenarios()}
    assert {f"{chaos.__name__}.kills", f"{chaos.__name__}.postgresql_down"} <= modules
    assert len({scenario.name for scenario in scenarios()}) == len(scenarios())
