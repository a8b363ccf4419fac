"""What the pages of a project show of its links."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import update

from directory.extensions import db
from directory.models import Project
from tests.extras.links.looks import ON, Directory
from tests.extras.links.site import Site
from tests.support.browsers import Browser

FORGE_SAID = {
    "license": "MIT", "stars": 1234, "archived": True, "fork": False, "language": "<b>", "created_at": None,
    "pushed_at": "2026-11-03T01:02:03.000000Z", "checked_at": "2026-11-04T01:02:03.000000Z",
}  # fmt: skip


def store(directory: Directory, project: int, **values: Any) -> None:
    change = update(Project).where(Project.id == project).values(values)
    directory.run(lambda: db.session.execute(change))


def test_the_page_says_since_when_the_website_is_dead_and_what_the_forge_says(directory: Directory) -> None:
    project = directory.world.project(title="Lamp")
    browser, path = Browser(directory.app), f"/p/{project}/lamp"
    before = browser.get(path).text
    store(directory, project, dead_since=datetime(2026, 11, 3, tzinfo=UTC), repository=FORGE_SAID)
    page = browser.get(path).text
    assert "Its website has not answered since" in page
    assert '<time datetime="2026-11-03T00:00:00+00:00">' in page
    assert 'rel="nofollow' in page
    for said in ("MIT", "1,234 stars", "last change", "archived"):
        assert said in page
        assert said not in before
    nothing: Any = dict.fromkeys(FORGE_SAID)
    store(directory, project, dead_since=None, repository={**nothing, "stars": 1})
    page = browser.get(path).text
    assert "1 star<" in page
    assert "last change" not in page


def test_the_owner_sees_what_moved_and_is_dead_and_takes_the_new_address_over(directory: Directory, site: Site) -> None:
    world, ada = directory.world, directory.world.user("ada")
    project = world.project(ada, "pending", url=site.url("/permanent"), repository_url=site.url("/404"))
    browser, path = Browser(directory.app), f"/mine/{project}"
    browser.sign_in("ada")
    assert "Use the new address" not in browser.get(path).text
    for _ in range(3):
        directory.look_again(project)
    page = browser.get(path).text
    assert "Use the new address" in page
    assert site.url("/new") in page
    assert "Source code: no answer since" in page
    root = Browser(directory.app)
    world.admin("root")
    root.sign_in("root")
    assert "Use the new address" not in root.get(path).text
    done = browser.post(f"{path}/links/moved", data={"link": "url"})
    assert (done.status_code, done.headers["Location"]) == (303, f"{path}?done=moved")
    assert "The new address is taken over." in browser.get(f"{path}?done=moved").text
    assert world.row(project).url == site.url("/new")  # type: ignore[union-attr]
    refused = browser.post(f"{path}/links/moved", data={"link": "url"})
    assert refused.status_code == 409
    assert Browser(directory.app).post(f"{path}/links/moved", data={"link": "url"}).status_code == 401


def test_nobody_else_reads_where_a_link_moved_or_what_it_answered(directory: Directory, site: Site) -> None:
    world, ada = directory.world, directory.world.user("ada")
    world.category("tools")
    site.pages["/moves"] = b"HTTP/1.1 301 Moved\r\nLocation: /hidden-place\r\nContent-Length: 0\r\n\r\n"
    project = world.project(ada, category="tools", title="Lamp", url=site.url("/moves"), repository_url=site.url("/1"))
    world.revise(project, ada, repository_url=site.url("/moves"))
    directory.look_again(project)
    everywhere = [
        "/api/projects", f"/api/projects/{project}", f"/api/projects/{project}/related", "/api/projects/facets",
        f"/api/projects/{project}/timeline", "/api/projects.atom", "/api/auth/me/export", "/", f"/p/{project}/lamp",
        "/categories/tools", "/users/ada", "/sitemap.xml", f"/api/projects/check?url={site.url('/moves')}",
    ]  # fmt: skip
    browser = Browser(directory.app)
    world.user("bob")
    read = []
    for _ in range(2):
        for path in everywhere:
            text = browser.get(path).text
            assert "hidden-place" not in text, path
            assert '"state":"moved"' not in text, path
            read.append("Lamp" in text)
        browser.sign_in("bob")
    assert read.count(True) >= 10
    owner, path = world.caller(ada), f"/api/projects/{project}"
    assert "hidden-place" in owner.get(path).text  # so it would have been found
    assert "hidden-place" in world.caller(world.reviewer()).get(f"/api/review/projects/{project}").text


def test_while_it_is_off_the_pages_say_nothing_of_what_was_seen(make_app: Any, site: Site) -> None:
    directory = Directory(make_app(**ON))
    ada = directory.world.user("ada")
    project = directory.world.project(ada, url=site.url("/404"), repository_url=site.url("/permanent"))
    for _ in range(3):
        directory.look_again(project)
    store(directory, project, repository=FORGE_SAID)
    paths, shown = (f"/p/{project}", f"/mine/{project}"), {}
    for name, app in (("on", directory.app), ("off", make_app())):
        browser = Browser(app)
        browser.sign_in("ada")
        shown[name] = "".join(browser.get(path, follow_redirects=True).text for path in paths)
    for said in ("not answered since", "1,234 stars", "no answer since", "Use the new address"):
        assert said in shown["on"]
        assert said not in shown["off"]
