"""Fixtures of the tests of the extras' pages. The tests of an extra that is off are left out."""

from pathlib import Path

from tests.support import extras
from tests.web.conftest import chromium, grace, pages  # noqa: F401

collect_ignore = [path.name for path in Path(__file__).parent.glob("*/") if path.name not in extras.ON]
