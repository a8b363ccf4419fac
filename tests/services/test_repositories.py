"""Repositories that are given as Git clones them get their web address; others are refused at their field."""

from typing import Any

import pytest

from directory.services.text.repositories import web_address
from tests.support.factories import Api, World

WEB = "https://github.com/ada/tool"
GIT = [
    "git://github.com/ada/tool.git", "git@github.com:ada/tool.git", "github.com:ada/tool",
    "git@github.com:/ada/tool.git/",
    "ssh://git@github.com/ada/tool.git", "ssh://git@github.com:22/ada/tool", "git+ssh://git@github.com/ada/tool.git#main",
    "SSH://GIT@GitHub.com/ada/tool.git", "ssh://git@ssh.github.com:443/ada/tool.git", "github:ada/tool",
    "git://www.github.com/ada/tool.git", " git@github.com:ada/tool.git ", "git+git://github.com/ada/tool.git",
]  # fmt: skip
OTHERS = {
    "git@gitlab.com:group/sub/tool.git": "https://gitlab.com/group/sub/tool",
    "git@gitlab.gnome.org:GNOME/tool.git": "https://gitlab.gnome.org/GNOME/tool",
    "ssh://git@codeberg.org/ada/tool.git": "https://codeberg.org/ada/tool",
    "git@git.sr.ht:~ada/tool": "https://git.sr.ht/~ada/tool",
    "git+https://git.example.org/ada/tool.git": "https://git.example.org/ada/tool.git",
    "git+http://git.example.org/a": "http://git.example.org/a",
}
UNKNOWN = [
    "git://git.example.org/tool.git", "git@git.example.org:tool.git", "ssh://git@10.0.0.1/tool", "git@github.com:",
    "git+https://ada:secret@github.com/ada/tool.git", "git@github.com", "javascript:alert(1)", "svn://github.com/a/b",
    "git@github.com:ada/<b>", "file:///srv/git/tool.git", "git@github.com:ada/to ol",
]  # fmt: skip


@pytest.mark.parametrize("given", GIT)
def test_the_forms_of_one_repository_have_one_web_address(given: str) -> None:
    assert web_address(given) == WEB


@pytest.mark.parametrize(("given", "address"), OTHERS.items())
def test_other_hosts_and_forms(given: str, address: str) -> None:
    assert web_address(given) == address


@pytest.mark.parametrize("given", [WEB, f"{WEB}.git", "http://github.com:80/a/b", "https://a.example/x:y/z"])
def test_web_addresses_stay_as_they_are(given: str) -> None:
    assert web_address(given) == given


@pytest.fixture
def body(world: World) -> dict[str, Any]:
    return {"title": "Tool", "tagline": "?", "url": "https://tool.example", "category": world.category()}


def test_a_submission_and_an_edit_take_them(world: World, body: dict[str, Any]) -> None:
    owner = world.caller(world.user())
    made = owner.post("/api/projects", {**body, "repository_url": GIT[0]})
    assert (made.status_code, made.json["repository_url"]) == (201, WEB)
    changed = owner.put(f"/api/projects/{made.json['id']}", {"repository_url": "git@gitlab.com:ada/tool.git"})
    assert changed.json["repository_url"] == "https://gitlab.com/ada/tool"
    again = owner.put(f"/api/projects/{made.json['id']}", {"repository_url": "git://gitlab.com/ada/tool.git"})
    assert again.json["version"] == changed.json["version"]


@pytest.mark.parametrize("given", UNKNOWN)
def test_without_a_known_web_address_the_field_alone_is_refused(world: World, body: dict[str, Any], given: str) -> None:
    refused = world.caller(world.user()).post("/api/projects", {**body, "repository_url": given})
    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json["errors"]] == ["#/repository_url"]


def test_a_website_is_not_a_repository(world: World, body: dict[str, Any]) -> None:
    refused: Any = world.caller(world.user()).post("/api/projects", {**body, "url": GIT[1]})
    assert [error["pointer"] for error in refused.json["errors"]] == ["#/url"]


def test_the_check_before_a_submission_takes_them(api: Api, world: World) -> None:
    project = world.project(url="https://tool.example", repository_url=WEB)
    found = world.caller(world.user()).get("/api/projects/check", query_string={"repository_url": GIT[1]}).json
    assert [item["id"] for item in found["same_repository"]] == [project]
