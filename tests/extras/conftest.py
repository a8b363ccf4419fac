"""Fixtures of the tests of the extras' pages: those of the other pages."""

from tests.web.conftest import chromium, grace, pages  # noqa: F401
