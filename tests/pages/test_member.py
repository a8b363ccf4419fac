"""The page of a member."""

import pytest

from tests.pages.conftest import head_of, text_of, titles


def test_a_member_has_a_page_with_their_live_projects(world, api):
    ada = world.user("ada")
    world.project(ada, title="One", votes=1)
    world.project(ada, title="Two", votes=2)
    world.project(ada, "pending", title="Secret")
    world.project(title="Another's")
    answer = api.get("/users/ada")
    assert answer.status_code == 200
    assert titles(answer) == ["Two", "One"]
    assert "2 live projects · 3 upvotes received" in text_of(answer)
    assert "<title>ada · Project Directory</title>" in head_of(answer)


def test_many_projects_are_paged(world, api):
    ada = world.user("ada")
    for number in range(21):
        world.project(ada, title=f"Chart {number}")
    assert (len(titles(api.get("/users/ada"))), len(titles(api.get("/users/ada?page=2")))) == (20, 1)
    assert '<link rel="next" href="/users/ada?page=2">' in api.get("/users/ada").text
    assert '<link rel="prev" href="/users/ada">' in api.get("/users/ada?page=2").text
    assert api.get("/users/ada?page=3").status_code == 404


@pytest.mark.parametrize(
    "name",
    ["nobody-at-all", "Account%20locked%20call%20555", "%FF", "%zz", "a", "a" * 33, "%00", ".."],
)
def test_an_unknown_or_impossible_member_is_404_with_a_page_that_does_not_repeat_it(world, api, name):
    world.user("ada")
    answer = api.get(f"/users/{name}", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "Page not found" in text_of(answer)
    assert "locked" not in text_of(answer) + answer.text.partition('<meta name="application-name"')[0]


def test_a_suspended_member_is_404(world, api):
    ada = world.user("ada")
    assert api.get("/users/ada").status_code == 200
    world.caller(world.admin()).put(f"/api/admin/users/{ada.id}", {"status": "suspended"})
    assert api.get("/users/ada").status_code == 404


def test_another_case_of_the_name_is_redirected(world, api):
    world.user("ada")
    answer = api.get("/users/Ada")
    assert (answer.status_code, answer.headers["Location"]) == (308, "/users/ada")
