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


def test_what_owners_wrote_last_is_listed_and_counted_in_every_state_until_somebody_answers(
    world: World, reviewer: Api
) -> None:
    bob, admin, some = world.user(), world.caller(world.admin()), world.caller(world.reviewer(world.category("games")))
    texts = {state: world.project(bob, state) for state in ("live", "pending", "rejected")}
    changed, game, quiet = world.project(bob), world.project(bob, category="games"), world.project(bob)
    world.caller(bob).put(f"/api/projects/{changed}", {"title": "Another"})
    wrote = [*texts.values(), changed, game]
    for project in wrote:
        world.caller(bob).post(f"/api/projects/{project}/messages", {"text": "Please take it down."})

    def found(by: Api = reviewer, **filters: str) -> list[int]:
        ids = listed(by, answered="true", **filters)
        if not filters:
            assert by.get("/api/review/summary").json["messages"] == len(ids)
        return sorted(ids)

    assert found() == wrote
    assert (found(some), found(some, category="tools")) == ([game], [])
    assert sorted(item["id"] for item in admin.get("/api/admin/projects?answered=true").json["items"]) == wrote
    for state, project in texts.items():
        assert project in found(status=state)
    assert found(waiting="true") == [texts["pending"], changed]
    assert (found(kind="revision"), found(waiting_for="owner"), found(q="nothing")) == ([changed], [], [])
    assert found(sort="upvotes", status="live") == [texts["live"], changed, game]
    admin.post(f"/api/review/projects/{texts['live']}/messages", {"text": "Old spam.", "internal": True})
    assert found() == wrote
    admin.post(f"/api/review/projects/{texts['live']}/messages", {"text": "Done."})
    admin.put(f"/api/admin/projects/{texts['pending']}/approve")
    assert found() == [texts["rejected"], changed, game]
    world.caller(bob).post(f"/api/projects/{texts['live']}/messages", {"text": "Thank you."})
    assert found() == [texts["live"], texts["rejected"], changed, game]
    assert quiet not in found()
    for item in reviewer.get("/api/review/projects?limit=100").json["items"]:
        assert item["answered"] is (item["id"] in found())
    assert reviewer.get("/api/review/projects?answered=false").status_code == 422


@pytest.mark.extra("spam_rules")
def test_the_summary_has_the_number_of_each_part_of_the_list_in_the_categories_of_the_reviewer(
    world: World, reviewer: Api
) -> None:
    world.rule(state="on", effect="hold", conditions=[{"fact": "links", "is": ">=", "value": 1}])
    bob, admin, some = world.user(), world.caller(world.admin()), world.caller(world.reviewer(world.category("games")))
    for number, category in enumerate(("tools", "tools", "games")):
        fields = {"title": f"Lamp {number}", "tagline": "A lamp", "url": f"https://{number}.example"}
        fields |= {"category": world.category(category), "description": "https://a.example"}
        assert world.caller(bob).post("/api/projects", fields).status_code == 201
    for category in ("tools", "games", "games"):
        asked = world.project(bob, "pending", category=category)
        admin.put(f"/api/review/projects/{asked}/request-changes", {"message": "Say more."})
    appealed = world.project(bob, "rejected")
    world.appeal(appealed, bob)
    parts = {
        "queue_length": {"waiting": "true"},
        "held": {"held": "true"},
        "waiting_for_owner": {"waiting_for": "owner"},
        "waiting_for_appeal": {"waiting_for": "appeal"},
        "messages": {"answered": "true"},
    }
    for by, numbers in ((admin, [0, 3, 3, 1, 1]), (reviewer, [0, 3, 3, 1, 1]), (some, [0, 1, 2, 0, 0])):
        summary = by.get("/api/review/summary").json
        assert [summary[name] for name in parts] == numbers
        assert [len(listed(by, **filters)) for filters in parts.values()] == numbers
