"""The people and projects that many tests of rules begin with. A file that needs others has its own."""

from typing import Any

import pytest
from flask import Flask

from directory.services.identity import Caller
from tests.support.factories import Api, World


@pytest.fixture
def admin(app: Flask, world: World) -> Api:
    return Api(app, world.caller(world.admin("root")).token)


@pytest.fixture
def ada(world: World) -> Caller:
    return world.user("ada")


@pytest.fixture(params=["pending", "revision"])
def item(request: Any, world: World, ada: Caller) -> int:
    """A pending project, or a live one whose changes wait."""
    if request.param == "pending":
        return world.project(ada, "pending")
    project = world.project(ada)
    world.revise(project, ada, title="Other")
    return project
