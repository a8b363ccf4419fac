"""What the tests of the pages share: the browser, the pages themselves, and who reviews."""

import pytest

from tests.support.chromium import chromium
from tests.support.factories import Caller, World
from tests.support.web import require_pages

__all__ = ["chromium"]


@pytest.fixture
def pages() -> None:
    """Skips where the pages are not built, and fails there where servers are required."""
    require_pages()


@pytest.fixture
def grace(world: World) -> Caller:
    """Who reviews."""
    return world.admin("grace")
