"""Fixtures of the tests of the pages: a build of one script, and the text of a page."""

import re
from html import unescape
from typing import Any

import pytest
from flask import Flask

from tests.support.factories import World
from tests.support.web import built

__all__ = ["built"]


@pytest.fixture(autouse=True)
def small_build(built: Any) -> None:
    """Every test of this folder has a build, whether the real pages are built or not."""


@pytest.fixture
def path_of(app: Flask, world: World) -> Any:
    """A function that makes a project, and returns the address of its page."""

    def make(**fields: Any) -> str:
        project_id = world.project(**fields)
        return f"/p/{project_id}/{world.stored(project_id)['slug']}"

    return make


def text_of(answer: Any) -> str:
    """What a page says, without its tags."""
    main = answer.text.partition("<main")[2].partition("</main>")[0].partition(">")[2]
    return " ".join(unescape(re.sub("<[^>]*>", " ", main)).split())


def head_of(answer: Any) -> str:
    return str(answer.text.partition("</head>")[0])


def titles(answer: Any) -> list[str]:
    """The titles of the projects in a list."""
    return [unescape(title) for title in re.findall('<a class="cover" href="[^"]*">([^<]*)</a>', answer.text)]
