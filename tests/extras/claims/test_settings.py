"""The setting of claims: its default, its values, and nonsense, which stops the start."""

import pytest

import config


def test_claims_last_a_quarter_of_an_hour_unless_the_operator_says_otherwise() -> None:
    environ = {"SECRET_KEY": "k" * 40, "DATABASE_URL": "sqlite:////srv/x.db"}
    given = ({}, {"CLAIM_MINUTES": "0"}, {"CLAIM_MINUTES": "1440"})
    assert [config.load({**environ, **each})["CLAIM_MINUTES"] for each in given] == [15, 0, 1440]
    for value in ("-1", "1441", "off", "0.5"):
        with pytest.raises(config.ConfigError, match=r"^CLAIM_MINUTES: "):
            config.load({**environ, "CLAIM_MINUTES": value})
