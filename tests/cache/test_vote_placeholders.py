"""What of a public body differs for a member is found by its bytes, whatever texts the body holds."""

import orjson
import pytest

from directory.cache.vote_placeholders import VotePlaceholders
from directory.http.endpoint import digest


def body(*projects: dict[str, object]) -> bytes:
    return orjson.dumps({"items": projects, "total": len(projects)})


def project(project_id: int, owner: int, title: str = "") -> dict[str, object]:
    return {"id": project_id, "title": title, "has_upvoted": None, "owner": {"id": owner, "username": title}}


PAGE = VotePlaceholders(lambda page: page["items"])


@pytest.mark.parametrize(
    "title", ["", '"has_upvoted":null', '\\","has_upvoted":null', "\\", '"', "has_upvoted", "\u2028"]
)
def test_votes_are_filled_in_whatever_the_texts_say(title: str) -> None:
    projects = [project(n, 10 + n, title) for n in (3, 33, 5)]
    public, placeholders = body(*projects), VotePlaceholders(PAGE.projects)
    for voted in (None, "3", "33", "5,3", "3,33,5"):
        expected = [
            {**each, "has_upvoted": voted is not None and str(each["id"]) in voted.split(",")} for each in projects
        ]
        for _ in range(2):
            filled, etag = placeholders.fill(public, '"old"', voted)
            assert filled == body(*expected)
            assert etag == f'"{digest(filled)}"'
    content = placeholders.content(public)
    assert (content.ids, [*content.owners]) == ("3,33,5", [13, 43, 15])


def test_a_version_in_the_etag_stays() -> None:
    public = orjson.dumps(project(1, 2))
    filled, etag = VotePlaceholders(lambda shown: [shown]).fill(public, '"12-abc"', "1")
    assert etag == f'"12-{digest(filled)}"'


def test_a_body_that_depends_on_no_caller_stays_as_it_is() -> None:
    placeholders = VotePlaceholders(None)
    assert placeholders.content(b"[]").ids == ""
    assert placeholders.fill(b"[]", '"e"', None) == (b"[]", '"e"')


def test_a_body_that_does_not_have_one_vote_for_each_project_is_refused() -> None:
    with pytest.raises(ValueError, match="one vote for each"):
        VotePlaceholders(lambda page: page["items"][:1]).content(body(project(1, 2), project(3, 4)))


def test_templates_of_one_route_are_equal_whatever_they_have_been_used_for() -> None:
    used = VotePlaceholders(PAGE.projects)
    used.content(body())
    assert used == VotePlaceholders(PAGE.projects)
