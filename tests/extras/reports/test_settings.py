"""The settings of reports."""

from pathlib import Path

import pytest

import config
from config import ConfigError


@pytest.fixture(autouse=True)
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of settings, and a folder of its own."""
    monkeypatch.setattr(config, "INSTANCE", tmp_path)


@pytest.mark.parametrize("who", ["off", "members", "everybody"])
def test_who_may_report_is_one_of_three(who: str) -> None:
    assert config.load({"REPORTS": who})["REPORTS"] == who


@pytest.mark.parametrize("who", ["on", "Members", "all"])
def test_nothing_else_is_taken(who: str) -> None:
    with pytest.raises(ConfigError, match=r"^REPORTS: "):
        config.load({"REPORTS": who})


def test_by_default_nobody_may_and_a_caller_five_times_an_hour() -> None:
    settings = config.load({})
    assert (settings["REPORTS"], settings["RATELIMIT_REPORTS"]) == ("off", "5 per hour")
    assert config.load({"RATELIMIT_REPORTS": "9 per day"})["RATELIMIT_REPORTS"] == "9 per day"
