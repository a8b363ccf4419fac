"""The site of the tests, one for all of a file."""

from collections.abc import Iterator

import pytest

from tests.extras.links.site import Site, serving


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as running:
        yield running
