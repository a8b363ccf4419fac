"""Whether something is here already: projects of the same URL, and others with a similar title."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from directory.services.catalog import similar
from tests.conftest import Statements
from tests.support.factories import Api, World


def check(caller: Api, **query: str) -> tuple[list[int], list[int]]:
    answer = caller.get(f"/api/projects/check?{urlencode(query)}")
    assert answer.status_code == 200, answer.json
    return tuple([item["id"] for item in answer.json[name]] for name in ("same", "similar"))  # type: ignore[return-value]


@pytest.fixture
def caller(world: World, ada: Any) -> Api:
    return world.caller(ada)


@pytest.fixture
def set_common(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Sets how many live projects make a word common. The limit stands in the text of statements, which are kept."""

    def change(limit: int) -> None:
        monkeypatch.setattr(similar, "COMMON", limit)
        similar._search.cache_clear()

    yield change
    similar._search.cache_clear()


def test_the_same_url_is_found_where_it_is_live_or_ones_own(world: World, ada: Any, caller: Api) -> None:
    url = "https://www.Example.org/a/"
    few, many = world.project(url=url, votes=1), world.project(url=url, votes=2)
    for status in ("pending", "rejected"):
        world.project(url=url, status=status)
    assert check(caller, url="http://example.org/a#top") == ([many, few], [])
    own = world.project(ada, "rejected", url=url)
    assert check(caller, url="https://example.org:443/a") == ([own, many, few], [])
    assert check(caller, url="https://example.org/b") == ([], [])
    assert check(world.caller(world.admin()), url=url) == ([many, few], [])


def test_each_is_shown_with_what_tells_it_apart(world: World, caller: Api) -> None:
    project = world.project(
        title="Lanternfish Charts", tagline="In the terminal", url="https://lantern.example", votes=1
    )
    shown = {"id": project, "slug": "lanternfish-charts", "title": "Lanternfish Charts", "tagline": "In the terminal",
             "status": "live", "upvotes": 1, "has_upvoted": False}  # fmt: skip
    answer = caller.get("/api/projects/check?title=lanternfish&url=https://x.example")
    assert answer.json == {"same": [], "similar": [shown]}
    assert answer.headers["Cache-Control"] == "private, no-cache"
    answer = caller.get("/api/projects/check?title=lanternfish&url=http://lantern.example/")
    assert answer.json == {"same": [shown], "similar": []}


def test_only_the_callers_own_say_when_they_were_submitted(world: World, ada: Any, caller: Api) -> None:
    own, other = (world.project(owner, title="Lantern", url="https://lantern.example") for owner in (ada, None))
    found = caller.get("/api/projects/check?url=https://lantern.example").json["same"]
    when = caller.get(f"/api/projects/{own}").json["created_at"]
    assert [(each["id"], each.get("created_at")) for each in found] == [(own, when), (other, None)]


def test_the_callers_own_votes_are_shown(world: World, caller: Api) -> None:
    same, similar_, other = (world.project(title="Lantern", url=f"https://{name}.example") for name in "abc")
    for project in (same, similar_):
        assert caller.put(f"/api/projects/{project}/upvote").status_code == 200
    world.caller(world.user()).put(f"/api/projects/{other}/upvote")
    found = caller.get("/api/projects/check?title=lantern&url=https://a.example").json
    shown = {each["id"]: each["has_upvoted"] for each in (*found["same"], *found["similar"])}
    assert shown == {same: True, similar_: True, other: False}


def test_similar_are_at_most_five_live_ones_the_most_alike_first_and_ones_own_before(
    world: World, ada: Any, caller: Api
) -> None:
    equal = world.project(title="flask admin")
    begun = world.project(title="Flask Admin Panel", votes=1)
    other = world.project(title="Django Admin")
    voted = world.project(title="Bottle Admin", votes=2)
    world.project(title="Flask Admin", status="pending")
    world.project(title="Flask Admin", status="rejected")
    world.project(ada, "pending", title="Flask Admin")
    world.project(title="Something else", tagline="A flask admin", description="Flask Admin")
    assert check(caller, title="Flask Admin") == ([], [equal, begun, voted, other])
    own = world.project(ada, title="The Flask and a Kettle")
    assert check(caller, title="Flask Admin") == ([], [own, equal, begun, voted, other])
    world.project(title="Admin, Admin")
    assert len(check(caller, title="Flask Admin")[1]) == similar.MOST_SIMILAR


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("C++ Weekly", "c++"), ("Grüße", "GRUSSE"), ("E-Mail Sorter", "email"), ("The Who", "Who?"), ("The", "the"),
        ("漢字ノート", "漢字"), ("It's Fine", "fine"), ("A \"quoted\" OR title", "quoted AND"), ("'", "'"),
    ],
)  # fmt: skip
def test_titles_are_compared_by_the_words_of_search(world: World, caller: Api, stored: str, asked: str) -> None:
    project = world.project(title=stored)
    assert check(caller, title=asked) == ([], [] if stored == "'" else [project])


def test_little_words_make_no_titles_alike(world: World, caller: Api) -> None:
    world.project(title="The Owl")
    assert check(caller, title="The Paper") == ([], [])
    assert check(caller, title="✨") == ([], [])


def test_a_word_that_very_many_have_counts_only_together_with_the_others(
    world: World, caller: Api, set_common: Callable[[int], None]
) -> None:
    set_common(3)
    both = world.project(title="Paper Owl Club")
    for _ in range(3):
        world.project(title="Paper Plane")
        world.project(title="Owl Watch")
    rare = world.project(title="Quokka")
    assert check(caller, title="Paper Owl") == ([], [both])
    assert check(caller, title="Paper Quokka") == ([], [rare])
    assert len(check(caller, title="Paper Plane")[1]) == 3  # the title as a whole


def test_of_others_nothing_is_told_that_is_not_live(world: World, caller: Api) -> None:
    before = caller.get("/api/projects/check?url=https://x.example&title=Quokka").json
    for status in ("pending", "rejected"):
        world.project(url="https://x.example", title="Quokka", status=status)
    for asking in (caller, world.caller(world.admin())):
        assert asking.get("/api/projects/check?url=https://x.example&title=Quokka").json == before


def test_projects_that_are_not_live_make_no_word_common(
    world: World, caller: Api, set_common: Callable[[int], None]
) -> None:
    set_common(3)
    watch, clock = world.project(title="Owl Watch", votes=1), world.project(title="Owl Clock")
    assert check(caller, title="Owl Diary") == ([], [watch, clock])
    for n in range(4):
        world.project(title=f"Owl {n}", status=("pending", "rejected")[n % 2])
    assert check(caller, title="Owl Diary") == ([], [watch, clock])
    later = world.project(title="Quokka Notes")  # found behind those that are not live
    for n in range(4):
        world.project(title=f"Quokka {n}", status="pending")
    assert check(caller, title="Quokka Diary") == ([], [later])


def test_url_or_title_has_to_be_given_and_to_be_one(api: Api, caller: Api) -> None:
    assert api.get("/api/projects/check").status_code == 401
    for query, name in (
        ("", "url"), ("url=x", "url"), ("url=", "url"), ("url=ftp://x.example", "url"), ("title=", "title"),
        (f"title={'x' * 101}", "title"), ("title=%00", "title"), ("url=https://x.example&title=%20", "title"),
        ("title=x&q=x", "q"), ("url=https://x.example&url=https://x.example", "url"),
    ):  # fmt: skip
        answer = caller.get(f"/api/projects/check?{query}")
        assert (answer.status_code, answer.json["errors"][0]["parameter"]) == (422, name), query


def test_it_takes_one_statement_for_the_url_and_two_with_a_title(
    world: World, caller: Api, statements: Statements
) -> None:
    for _ in range(8):
        world.project(title="Flask Admin Panel", url="https://x.example")
    caller.get("/api/projects/check?title=x")
    for query, number in (("url=https://x.example", 1), ("title=Flask+Admin+Kit", 2),
                          ("url=https://x.example&title=Flask+Admin+Kit", 2)):  # fmt: skip
        statements.clear()
        caller.get(f"/api/projects/check?{query}")
        assert len([each for each in statements if "token_hash" not in each]) == number


def test_it_takes_one_statement_more_only_if_all_words_of_the_title_are_common(
    world: World, caller: Api, statements: Statements, set_common: Callable[[int], None]
) -> None:
    set_common(2)
    for _ in range(2):
        world.project(title="Flask Admin Panel")
    world.project(title="Quokka")
    caller.get("/api/projects/check?title=x")
    for title, number in (("Flask+Admin", 3), ("Flask+Quokka", 2)):
        statements.clear()
        caller.get(f"/api/projects/check?title={title}")
        assert len([each for each in statements if "token_hash" not in each]) == number
