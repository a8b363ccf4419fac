"""The settings of the looks at links."""

import pytest

import config
from config import ConfigError


def test_by_default_nothing_is_looked_at() -> None:
    settings = config.load({})
    assert (settings["LINK_CHECKS"], settings["LINKS_ARE_CHECKED"]) == ("off", False)
    days = ("LINK_CHECK_DAYS", "LINK_GONE_DAYS", "LINK_UNREACHABLE_DAYS")
    assert [settings[name] for name in days] == [7, 3, 7]
    on = {"LINK_CHECKS": "on", "LINK_CHECK_DAYS": "90", "LINK_GONE_DAYS": "0"}
    assert config.load(on)["LINKS_ARE_CHECKED"] is True
    assert "LINKS_ARE_CHECKED" not in config.load({**on, "EXTRAS": "none"})


@pytest.mark.parametrize(
    ("name", "value"),
    [("LINK_CHECKS", "yes"), ("LINK_CHECK_DAYS", "0"), ("LINK_GONE_DAYS", "91"), ("LINK_UNREACHABLE_DAYS", "-1")],
)
def test_other_values_are_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: "):
        config.load({name: value})
