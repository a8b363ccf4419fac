"""The site of the tests, one for all of a file, and a directory that looks at links."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.extras.links.looks import ON, Directory
from tests.extras.links.site import Site, serving


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as running:
        yield running


@pytest.fixture
def directory(make_app: Any) -> Directory:
    return Directory(make_app(**ON))
