"""The tags: most used first, by their beginnings, and counted as projects come and go."""

from typing import Any

import pytest
from flask import Flask

from directory.services.catalog import tags
from tests.conftest import Statements
from tests.support.factories import Api, World


def listed(api: Api, query: str = "") -> list[tuple[str, int]]:
    answer = api.get(f"/api/tags{query}")
    assert answer.status_code == 200, answer.json
    return [(item["tag"], item["live_projects"]) for item in answer.json["items"]]


@pytest.fixture
def used(world: World) -> None:
    for given in (["web", "python"], ["web", "web-api"], ["web", "zoo", "a-b", "ab"]):
        world.project(tags=given)
    world.project(tags=["pending", "web"], status="pending")
    world.project(tags=["rejected", "python"], status="rejected")


@pytest.mark.usefixtures("used")
def test_tags_of_live_projects_are_listed_most_used_first_and_equals_by_name(api: Api) -> None:
    assert listed(api) == [("web", 3), ("a-b", 1), ("ab", 1), ("python", 1), ("web-api", 1), ("zoo", 1)]
    assert listed(api, "?limit=2") == [("web", 3), ("a-b", 1)]


@pytest.mark.usefixtures("used")
@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("w", ["web", "web-api"]), ("web", ["web", "web-api"]), ("web-", ["web-api"]), ("web-apis", []),
        ("WEB", ["web", "web-api"]), ("%20a%20", ["a-b", "ab"]), ("a-", ["a-b"]), ("ab", ["ab"]), ("pend", []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("few", [tags.FEW, 0])
def test_a_prefix_narrows_them_however_many_begin_with_it(
    api: Api, prefix: str, found: list[str], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tags, "FEW", few)
    assert [tag for tag, _ in listed(api, f"?prefix={prefix}")] == found
    assert [tag for tag, _ in listed(api, f"?prefix={prefix}&limit=1")] == found[:1]


@pytest.mark.usefixtures("used")
def test_a_blank_prefix_is_none(api: Api) -> None:
    for blank in ("", "%20", "+%20"):
        assert listed(api, f"?prefix={blank}") == listed(api)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "prefix=_", "prefix=-a", "prefix=a%20b", f"prefix={'a' * 33}",
              "prefix=%C4%B0", "prefix=%E2%84%AA", "prefix=%00", "page=1", "prefix=a&prefix=b"],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(api: Api, query: str) -> None:
    answer = api.get(f"/api/tags?{query}")
    assert (answer.status_code, answer.json["code"]) == (422, "validation_failed")


def test_twenty_are_listed_unless_another_number_is_asked_for(world: World, api: Api) -> None:
    for n in range(5):
        world.project(tags=[f"tag-{n}-{letter}" for letter in "abcde"])
    assert len(listed(api)) == 20
    assert len(listed(api, "?limit=100")) == 25


def test_the_counts_follow_every_change_of_a_project(world: World, api: Api) -> None:
    owner = world.user()
    mine, admin = world.caller(owner), world.caller(world.admin())
    project = world.project(owner, tags=["a", "b"])
    path, review = f"/api/projects/{project}", f"/api/admin/projects/{project}"
    assert listed(api) == [("a", 1), ("b", 1)]
    mine.put(path, {"tags": ["b", "c"]})
    assert listed(api) == [("b", 1), ("c", 1)]
    mine.post(f"{path}/upvote")
    mine.put(path, {"tags": ["c", "b"]})
    assert listed(api) == [("b", 1), ("c", 1)]
    admin.put(f"{review}/unpublish")
    assert listed(api) == []
    mine.put(path, {"tags": ["d"]})
    admin.put(f"{review}/approve")
    assert listed(api) == [("d", 1)]
    mine.put(path, {"title": "Another", "tags": ["e"]})  # the title waits for review
    assert listed(api) == [("e", 1)]
    admin.put(f"{review}/approve")
    assert listed(api) == [("e", 1)]
    mine.delete(path)
    assert listed(api) == []


def test_the_answer_is_public_and_has_a_tag(world: World, api: Api) -> None:
    world.project(tags=["a"])
    first = api.get("/api/tags")
    assert first.headers["Cache-Control"] == "public, no-cache"
    again = api.get("/api/tags", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
    world.project(tags=["a"])
    assert api.get("/api/tags", headers={"If-None-Match": first.headers["ETag"]}).json["items"][0]["live_projects"] == 2


def test_it_takes_one_statement_and_with_a_prefix_two(app: Flask, world: World, statements: Statements) -> None:
    caller = world.caller(world.user())
    caller.get("/api/auth/me")  # what a first use reads once
    for query, number in (("", 1), ("?prefix=a", 2)):
        statements.clear()
        caller.get(f"/api/tags{query}")
        assert len([each for each in statements if "tag_counts" in each]) == number


def test_imported_projects_are_counted_too(app: Flask, world: World, api: Api, tmp_path: Any) -> None:
    world.admin()
    world.category("tools")
    rows = tmp_path / "rows.jsonl"
    row = '{{"title": "T", "tagline": "t", "url": "https://{0}.example", "category": "tools", "tags": ["x", "y{0}"]}}\n'
    rows.write_text("".join(row.format(n) for n in range(3)))
    result = app.test_cli_runner().invoke(args=["import", str(rows), "--status", "live"])
    assert result.exit_code == 0, result.output
    assert listed(api) == [("x", 3), ("y0", 1), ("y1", 1), ("y2", 1)]
