"""Fixtures of the tests of feed keys: a member and her browser."""

from tests.api.conftest import ada, browser  # noqa: F401
