"""PUBLIC_MAX_AGE: what a CDN may keep of public answers, and that it gets nothing else."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.test_public_walk import Filled
from tests.api.test_revisions_public import addresses
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api, World
from tests.support.reading import FastPath, in_loop, parsed
from tests.support.web import built

__all__ = ["built"]

pytestmark = pytest.mark.response_cache

USUAL, SHARED = "public, no-cache", "public, max-age=0, must-revalidate, s-maxage=7"
PRIVATE = {"private, no-cache", "private, no-store", "no-store"}
READS = (
    "/", "/tags/a", "/users/ada", "/sign-in", "/api/projects", "/api/projects.atom", "/api/tags", "/api/users/ada",
    "/sitemap.xml", "/robots.txt", "/api/openapi.json", "/static/notes.txt",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A SITE_DIR with one file."""
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "notes.txt").write_text("Notes")
    return tmp_path


def caching(answer: Any) -> str:
    return str(answer.headers["Cache-Control"])


@pytest.mark.usefixtures("built")
def test_every_public_answer_may_be_shared_and_no_other(make_app: Any, world: World, folder: Path) -> None:
    """With and without the cache, where an answer was `public, no-cache` it says how long it is shared."""
    filled = Filled(world, 1)
    given = {"SITE_DIR": folder, "SITE_URL": "https://a.example"}
    usual = Api(make_app(**given))
    apps = [make_app(**given, PUBLIC_MAX_AGE="7", RESPONSE_CACHE=use) for use in ("true", "false")]
    [project] = filled.projects
    paths = [*addresses(apps[0], project), *READS]
    before = {path: caching(usual.get(path)) for path in paths}
    assert {path for path in READS if before[path] != USUAL} == set()
    for app in apps:
        member, anonymous = Api(app, filled.owner.token), Api(app)
        for path, was in before.items():
            first = anonymous.get(path)
            assert caching(first) == (SHARED if was == USUAL else was), path
            if was == USUAL:
                again = anonymous.get(path, headers={"If-None-Match": first.headers.get("ETag", "")})
                assert (caching(again), caching(anonymous.get(path))) == (SHARED, SHARED), path
                assert caching(anonymous.call("HEAD", path)) == SHARED, path
        for path in ("/", f"/p/{project}", "/api/projects", f"/api/projects/{project}", "/api/session"):
            assert caching(member.get(path)) in PRIVATE, path


@pytest.mark.usefixtures("built")
def test_the_loop_gives_the_same(make_app: Any, world: World, folder: Path) -> None:
    filled = Filled(world, 1)
    app = make_app(SITE_DIR=folder, PUBLIC_MAX_AGE="7")
    path, api = FastPath(app), Api(app)
    project = f"/api/projects/{filled.projects[0]}"
    for target in ("/", "/api/projects", "/api/openapi.json"):
        api.get(target)
    for target in ("/", "/api/projects", project, "/static/notes.txt"):
        answer = in_loop(path, parsed(target))
        assert answer is not None, target
        assert f"Cache-Control: {SHARED}\r\n".encode() in answer.headers, target


def test_an_answer_that_sets_a_cookie_is_not_shared(make_app: Any, world: World) -> None:
    world.user("ada")
    app = make_app(PUBLIC_MAX_AGE="7")
    browser = Browser(app).sign_in("ada")
    assert "s-maxage" not in caching(browser.get("/api/projects"))
    for path, body in (("/api/auth/login", {"login": "ada", "password": PASSWORD}), ("/api/auth/logout", None)):
        answer = browser.post(path, body)
        assert "Set-Cookie" in answer.headers
        assert caching(answer) == "no-store"
