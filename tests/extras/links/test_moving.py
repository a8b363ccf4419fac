"""Taking over where a link leads that has moved, and the lists of dead and moved links."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from directory.extensions import db
from directory.models import AuditEntry, Project
from directory.services.drafts import Verdict
from tests.extras.links.looks import ON, Directory
from tests.extras.links.site import Site
from tests.support.factories import Api, World


def moved(directory: Directory, site: Site, **given: Any) -> int:
    """A project whose website has moved, as was seen."""
    project = directory.world.project(**{"url": site.url("/permanent"), "repository_url": site.url("/2"), **given})
    directory.look_again(project)
    return project


def ids(caller: Api, query: str) -> list[int]:
    answer = caller.get(f"/api/review/projects?{query}")
    assert answer.status_code == 200, answer.json
    return [each["id"] for each in answer.json["items"]]


def test_the_owner_takes_a_moved_address_over_by_an_edit_as_any(directory: Directory, site: Site) -> None:
    world, ada = directory.world, directory.world.user("ada")
    pending = moved(directory, site, owner=ada, status="pending")
    site.pages["/moves"] = b"HTTP/1.1 301 Moved\r\nLocation: /newer\r\nContent-Length: 0\r\n\r\n"
    live = moved(directory, site, owner=ada, url=site.url("/moves"))
    owner = world.caller(ada)
    stale = owner.put(f"/api/projects/{pending}/links/moved", {"link": "url"}, headers={"If-Match": '"9"'})
    assert stale.status_code == 412
    done = owner.put(f"/api/projects/{pending}/links/moved", {"link": "url"})
    assert (done.status_code, done.json["url"], done.json["links"]["url"]) == (200, site.url("/new"), None)
    assert done.headers["ETag"]
    waits = owner.put(f"/api/projects/{live}/links/moved", {"link": "url"})
    assert (waits.status_code, waits.json["url"]) == (200, site.url("/moves"))
    assert waits.json["revision"]["changes"] == {"url": site.url("/newer")}
    taken = moved(directory, site, owner=ada, url=site.url("/twice"))
    refused = owner.put(f"/api/projects/{taken}/links/moved", {"link": "url"})
    assert (refused.status_code, refused.json["code"]) == (409, "duplicate")
    for link in ("url", "repository_url"):  # the website has not moved from there, the repository never
        refused = owner.put(f"/api/projects/{pending}/links/moved", {"link": link})
        assert (refused.status_code, refused.json["code"], refused.json["current_status"]) == (
            409, "invalid_transition", "pending",
        )  # fmt: skip
    assert owner.put(f"/api/projects/{live}/links/moved", {"link": "logo_url"}).status_code == 422
    assert world.caller(world.user("bob")).put(f"/api/projects/{live}/links/moved", {"link": "url"}).status_code == 404
    assert Api(directory.app).put(f"/api/projects/{live}/links/moved", {"link": "url"}).status_code == 401


def test_reviewers_take_it_over_at_once_whoever_has_to_approve_and_the_log_names_them(
    make_app: Any, site: Site
) -> None:
    directory = Directory(make_app(**ON, APPROVALS_REQUIRED="2", SELF_REVIEW="refuse"))
    world = directory.world
    world.category("tools")
    world.category("games")
    vera, ada = world.reviewer("tools", username="vera"), world.user("ada")
    project = moved(directory, site, owner=ada, category="tools")
    other = moved(directory, site, owner=ada, category="games", url=site.url("/twice"))
    own = moved(directory, site, owner=vera, category="tools")
    reviewer, path = world.caller(vera), "/api/review/projects/{}/links/moved"
    assert ids(reviewer, "links=moved") == [own, project]
    assert ids(reviewer, "links=dead") == []
    assert reviewer.put(path.format(other), {"link": "url"}).status_code == 404
    assert reviewer.put(path.format(own), {"link": "url"}).json["code"] == "own_submission"
    assert world.caller(ada).put(path.format(project), {"link": "url"}).status_code == 403
    done = reviewer.put(path.format(project), {"link": "url"})
    assert (done.status_code, done.json["url"], done.json["status"]) == (200, site.url("/new"), "live")
    assert done.json["revision"] is None
    assert ids(reviewer, "links=moved") == [own]  # it is in the list no longer
    entry = directory.run(lambda: db.session.query(AuditEntry).filter_by(action="project.edited").one())
    assert (entry.actor_id, entry.project_id, [*entry.changes]) == (vera.id, project, ["url"])
    assert reviewer.put(path.format(project), {"link": "url"}).json["code"] == "invalid_transition"


def test_an_address_that_no_project_can_have_is_not_taken_over(
    make_app: Any,
    directory: Directory,
    site: Site,
) -> None:
    ada = directory.world.user("ada")
    project = moved(directory, site, owner=ada)
    app = make_app(LINK_CHECKS="on")
    refused = World(app).caller(ada).put(f"/api/projects/{project}/links/moved", {"link": "url"})
    assert (refused.status_code, refused.json["errors"][0]["pointer"]) == (422, "#/link")


def test_dead_and_moved_links_are_listed_while_links_are_looked_at(
    make_app: Any,
    directory: Directory,
    site: Site,
) -> None:
    world = directory.world
    reviewer = world.caller(world.admin())
    gone = moved(directory, site, url=site.url("/404"), repository_url=site.url("/permanent"))
    for _ in range(2):
        directory.look_again(gone)
    assert ids(reviewer, "links=dead") == ids(reviewer, "links=moved") == [gone]
    assert ids(reviewer, "links=dead&status=pending") == []
    assert reviewer.get("/api/review/projects?links=ok").status_code == 422
    off = World(make_app())
    world_off = off.caller(off.admin("root"))
    assert ids(world_off, "links=dead") == ids(world_off, "links=moved") == []
    answer = world_off.put(f"/api/review/projects/{gone}/links/moved", {"link": "repository_url"})
    assert answer.json["code"] == "invalid_transition"


def test_a_reviewer_has_links_looked_at_again(directory: Directory, site: Site) -> None:
    world = directory.world
    world.category("tools")
    world.category("games")
    project = moved(directory, site, category="tools")
    reviewer, outside = world.caller(world.reviewer("tools")), world.caller(world.reviewer("games"))
    path = f"/api/review/projects/{project}/links/due"
    assert outside.put(path).status_code == 404
    assert directory.look() == 0
    assert reviewer.get("/api/review/summary").json["dead_links"] == 0
    site.asked.clear()
    assert reviewer.put(path).status_code == 204
    assert directory.look() == 1
    assert [asked for asked, _headers in site.asked] == ["/permanent", "/new", "/2"]
    rejected = world.project(status="rejected", category="tools")
    assert reviewer.put(f"/api/review/projects/{rejected}/links/due").status_code == 204
    unseen = world.project(category="tools", url=site.url("/7"))
    assert reviewer.put(f"/api/review/projects/{unseen}/links/due").status_code == 204


def test_the_queue_warns_of_links_that_are_gone_do_not_answer_or_whose_repository_is_archived(
    directory: Directory,
    site: Site,
) -> None:
    world, ada = directory.world, directory.world.user("ada")
    reviewer = world.caller(world.admin())
    project = moved(directory, site, owner=ada, url=site.url("/404"), repository_url=site.url("/silent"))
    world.revise(project, ada, title="Later")

    def warnings() -> list[str]:
        [item] = reviewer.get("/api/review/projects?waiting=true").json["items"]
        found: list[str] = reviewer.get(f"/api/review/projects/{project}").json["warnings"]
        assert found == item["warnings"]
        return found

    archive = update(Project).where(Project.id == project).values(repository={"archived": True})
    directory.run(lambda: db.session.execute(archive))
    assert warnings() == ["link_gone", "link_unreachable", "repository_archived"]
    world.revise(project, ada, url=site.url("/5"), repository_url=site.url("/6"))
    assert warnings() == []  # of the new addresses nothing is known yet
    directory.look()
    assert warnings() == []
    world.revise(project, ada, url=site.url("/410"))
    directory.look()
    assert warnings() == ["link_gone"]


def test_what_arrives_is_judged_when_it_is_written_down(
    directory: Directory,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged = list[Any]()
    app: Flask = directory.app

    def judge(draft: Any) -> Verdict:
        judged.append((draft.seen, (draft.after.links or {}).get("url")))
        return Verdict(lambda _account: None)

    monkeypatch.setitem(app.extensions, "judge", judge)
    project = moved(directory, site, owner=directory.world.user("ada"), status="pending")
    [(seen, entry)] = judged
    assert (seen, entry["state"]) == ({"links"}, "moved")
    directory.look_again(project)
    assert len(judged) == 1  # nothing new
