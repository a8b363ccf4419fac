"""Which part of the projects the lists for reviewers show: by kind, and by owners who are new."""

import pytest

from tests.support.factories import Api, World

NEW = {"first_time": "true", "waiting": "true"}


@pytest.fixture
def reviewer(world: World) -> Api:
    return world.caller(world.reviewer())


def listed(reviewer: Api, **filters: str) -> list[int]:
    answer = reviewer.get("/api/review/projects", query_string={"limit": 100, **filters}).json
    assert answer["pagination"]["total"] == len(answer["items"])
    return [item["id"] for item in answer["items"]]


def test_a_list_has_submissions_or_changes_alone(world: World, reviewer: Api) -> None:
    bob = world.user()
    submission, changed = world.project(bob, "pending"), world.project(bob)
    others = [world.project(bob, "live"), world.project(bob, "rejected")]
    world.caller(bob).put(f"/api/projects/{changed}", json={"title": "Another"})
    assert listed(reviewer, kind="submission") == [submission]
    assert listed(reviewer, kind="revision") == listed(reviewer, kind="revision", waiting="true") == [changed]
    assert listed(reviewer, kind="submission", waiting="true", q="project") == [submission]
    for nothing in ({"status": "rejected"}, {"status": "live"}):
        assert listed(reviewer, kind="submission", **nothing) == []
    assert listed(reviewer, kind="revision", first_time="true") == []
    assert {*listed(reviewer)} == {submission, changed, *others}


@pytest.mark.parametrize("sort", ["", "newest", "upvotes"])
def test_first_timers_have_pending_projects_of_which_none_was_decided(world: World, reviewer: Api, sort: str) -> None:
    admin, new = world.caller(world.admin()), world.user("new")
    first = [world.project(new, "pending"), world.project(new, "pending", category="games", title="Some games")]
    for status in ("live", "rejected"):
        owner = world.user()
        world.project(owner, status)
        world.project(owner, "pending")
    sent_again, taken_down = world.user(), world.user()
    rejected, live = world.project(sent_again, "rejected"), world.project(taken_down)
    world.caller(sent_again).put(f"/api/projects/{rejected}", json={"title": "Once more"})
    admin.put(f"/api/admin/projects/{live}/unpublish")
    world.caller(taken_down).put(f"/api/projects/{live}", json={"title": "Once more"})
    assert {rejected, live} < {*listed(reviewer, waiting="true")}
    order = {"sort": sort} if sort else {}
    assert sorted(listed(reviewer, **NEW, **order)) == sorted(listed(reviewer, first_time="true", **order)) == first
    for narrowed in ({"category": "games"}, {"q": "games"}, {"owner": "new"}):
        found = listed(reviewer, **NEW, **order, **narrowed)
        assert sorted(found) == (first if "owner" in narrowed else first[1:]), narrowed
    assert listed(reviewer, status="live", first_time="true") == []
    admin.put(f"/api/admin/projects/{first[0]}/reject")
    assert listed(reviewer, **NEW, **order) == []
