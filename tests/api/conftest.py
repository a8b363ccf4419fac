"""A member, and the member's browser, for the tests of several routes."""

import pytest
from flask import Flask

from directory.services.identity import Caller
from tests.support.browsers import Browser
from tests.support.factories import World


@pytest.fixture
def ada(world: World) -> Caller:
    return world.user("ada")


@pytest.fixture
def browser(app: Flask, ada: Caller) -> Browser:
    return Browser(app).sign_in("ada")
