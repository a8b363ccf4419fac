"""The parts of a public body that differ for a signed-in reader are found by their bytes, whatever its texts."""

from typing import Any

import orjson
import pytest

from directory.api.schemas.projects import ProjectDetail
from directory.cache.personal_body import PersonalParts
from directory.extensions import db
from directory.http.cache_policy import CachePolicy
from directory.http.endpoint import digest

POLICY = CachePolicy(projects=lambda page: page["items"], project=ProjectDetail())
TEXTS = ["", '"has_upvoted":null', '\\","has_upvoted":null', '"version":1', "\\", '"', "has_upvoted", "\u2028"]

NO_FIELDS = (7, None, None)  # the category, and the values of own fields with the state of their definitions


def body(*projects: dict[str, Any]) -> bytes:
    return orjson.dumps({"items": projects, "total": len(projects)})


def project(project_id: int, owner: int, title: str = "", **beside: Any) -> dict[str, Any]:
    by = {"id": owner, "username": title}
    return {"id": project_id, "title": title, "has_upvoted": None, "owner": by, "version": owner, **beside}


@pytest.mark.parametrize("title", TEXTS)
def test_votes_are_filled_in_whatever_the_texts_say(title: str) -> None:
    projects = [project(n, 10 + n, title) for n in (3, 33, 5)]
    public, personal = body(*projects), PersonalParts(POLICY)
    for voted in (None, "3", "33", "5,3", "3,33,5"):
        expected = [
            {**each, "has_upvoted": voted is not None and str(each["id"]) in voted.split(",")} for each in projects
        ]
        for _ in range(2):
            filled, etag = personal.fill(public, '"old"', voted, None)
            assert filled == body(*expected)
            assert etag == f'"{digest(filled)}"'
    found = personal.projects(public)
    assert (found.ids, found.owners) == ("3,33,5", "13,43,15")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("voted", [None, "33"])
def test_what_the_owner_sees_stands_behind_the_public_members(
    text: str, voted: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("shows_links", False), ("definitions", None)):  # no application is asked
        monkeypatch.setattr(type(db), name, value)
    projects = [project(n, 10 + n) for n in (3, 33, 5)]
    changes = {"title": text, "tags": []}
    day = "2026-11-20 10:00:00.12"
    own = [
        [33, *NO_FIELDS, "changes", "reviewers", None, None, None, changes, "games", None, day, day, None, day],
        [3, *NO_FIELDS, "submission", None, None, "rejected", text, None, None, None, None, day, None, day],
        [5, *NO_FIELDS, *[None] * 12],
    ]
    at = "2026-11-20T10:00:00.120000Z"
    revision = {"changes": {**changes, "category": "games"}, "submitted_at": at, "reason": None}
    waits = {"waiting_for": "review", "since": at, "closes_at": None, "held": False, "asked": None}
    nothing = {"rejection_reason": None, "revision": None, "review": None, "links": None}
    seen = {
        33: {**nothing, "revision": revision, "review": waits},
        3: {**nothing, "rejection_reason": text},
        5: nothing,
    }
    expected = [{**each, "has_upvoted": voted == str(each["id"]), **seen.get(int(each["id"]), {})} for each in projects]
    filled, etag = PersonalParts(POLICY).fill(body(*projects), '"old"', voted, orjson.dumps(own).decode())
    assert orjson.loads(filled) == orjson.loads(body(*expected))
    assert etag == f'"{digest(filled)}"'


def test_a_body_that_depends_on_no_caller_stays_as_it_is() -> None:
    personal = PersonalParts(CachePolicy())
    assert personal.projects(b"[]").ids == ""
    assert personal.fill(b"[]", '"e"', None, None) == (b"[]", '"e"')


def test_a_page_without_projects_stays_as_it_is() -> None:
    assert PersonalParts(POLICY).fill(body(), '"e"', None, "[]")[0] == body()


@pytest.mark.parametrize("lacks", ["has_upvoted", "version"])
def test_a_body_that_does_not_have_one_place_for_each_project_is_refused(lacks: str) -> None:
    projects = [project(1, 2), project(3, 4)]
    del projects[1][lacks]
    with pytest.raises(ValueError, match="one vote and one version"):
        PersonalParts(POLICY).projects(body(*projects))


def test_two_of_one_route_are_equal_whatever_they_have_been_used_for() -> None:
    used = PersonalParts(POLICY)
    used.projects(body())
    assert used == PersonalParts(POLICY)
