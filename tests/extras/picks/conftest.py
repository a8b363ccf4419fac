"""Who picks."""

import pytest

from tests.support.factories import Api, World


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin("root"))
