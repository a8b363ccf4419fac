"""The setting of appeals: its default, its values, and nonsense, which stops the start."""

import pytest

import config


def test_owners_may_appeal_only_where_the_operator_says_so() -> None:
    environ = {"SECRET_KEY": "k" * 40, "DATABASE_URL": "sqlite:////srv/x.db"}
    given = ({}, {"APPEALS": "on"}, {"APPEALS": "off"})
    assert [config.load({**environ, **each})["APPEALS"] for each in given] == ["off", "on", "off"]
    with pytest.raises(config.ConfigError, match=r"^APPEALS: "):
        config.load({**environ, "APPEALS": "true"})
