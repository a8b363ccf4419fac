"""A website that is another project's repository, and the other way round: a hint to submitters and reviewers."""

from typing import Any
from urllib.parse import urlencode

import pytest

from tests.support.factories import Api, World

HUB = "https://github.com/ada/tool"
SPELLINGS = [
    HUB,
    f"{HUB}.git",
    f"{HUB}#readme",
    f"{HUB}/tree/main",
    "http://www.github.com/Ada/Tool/",
    f"{HUB}?tab=readme-ov-file",
]


@pytest.fixture
def caller(world: World) -> Api:
    return world.caller(world.user())


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin())


def found(caller: Api, **query: str) -> list[int]:
    answer = caller.get(f"/api/projects/check?{urlencode(query)}")
    assert answer.status_code == 200, answer.json
    return [item["id"] for item in answer.json.get("same_repository", [])]


def warnings(admin: Api) -> dict[int, list[str]]:
    items = admin.get("/api/admin/projects").json["items"]
    return {item["id"]: item["warnings"] for item in items}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_repository_is_recognised_as_website_and_as_repository(
    world: World, caller: Api, admin: Api, spelling: str
) -> None:
    project = world.project(url="https://tool.example", repository_url=HUB)
    assert found(caller, url=spelling) == [project]
    assert found(caller, url="https://new.example", repository_url=spelling) == [project]
    website = world.project(url=spelling, status="pending")
    assert warnings(admin) == {project: ["same_repository"], website: ["same_repository"]}


def test_a_website_is_recognised_as_the_repository_of_another(world: World, caller: Api, admin: Api) -> None:
    project = world.project(url=f"{HUB}/tree/main")
    assert found(caller, repository_url=f"{HUB}.git") == [project]
    assert found(caller, url=HUB) == []  # it is the same
    other = world.project(url="https://tool.example", repository_url=HUB, status="pending")
    assert warnings(admin) == {project: ["same_repository"], other: ["same_repository"]}


def test_projects_without_a_common_repository_have_no_warning(world: World, caller: Api, admin: Api) -> None:
    projects = [
        world.project(url="https://a.example", repository_url=HUB),
        world.project(url="https://b.example", repository_url=f"{HUB}/tree/main/packages/b"),
        world.project(url="https://github.com/ada/other", repository_url="https://github.com/ada/other"),
        world.project(url="https://c.example"),
    ]
    assert warnings(admin) == {project: [] for project in projects}
    answer = caller.get("/api/projects/check?url=https://new.example").json
    assert answer == {"same": [], "similar": []}


def test_a_revision_is_judged_by_what_it_would_make(world: World, admin: Api) -> None:
    ada = world.user()
    project = world.project(ada, url="https://a.example")
    other = world.project(url="https://b.example", repository_url=HUB)
    world.caller(ada).put(f"/api/projects/{project}", {"repository_url": f"{HUB}.git"})
    assert warnings(admin)[project] == ["same_repository"]
    assert warnings(admin)[other] == []  # the repository is not public, nor approved


def test_nobody_learns_of_others_projects_that_are_not_live(world: World, caller: Api) -> None:
    ada: Any = world.user()
    pending = world.project(ada, "pending", url="https://tool.example", repository_url=HUB)
    assert found(caller, url=HUB) == []
    assert found(world.caller(ada), url=HUB) == [pending]
