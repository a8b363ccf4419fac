"""The people of the tests of rules."""

from tests.services.conftest import ada, admin  # noqa: F401 (fixtures)
