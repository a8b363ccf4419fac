"""Fixtures of the tests of the pages: the browser, the pages themselves, and a reviewer."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.chromium import launched
from tests.support.factories import Caller, World
from tests.support.web import require_pages


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser of this folder's tests."""
    with launched() as browser:
        yield browser


@pytest.fixture
def pages() -> None:
    """Skips where the pages are not built, and fails there where servers are required."""
    require_pages()


@pytest.fixture
def grace(world: World) -> Caller:
    """Who reviews."""
    return world.admin("grace")
