"""Addresses for crawlers: robots.txt, the sitemap in its parts, and the icon."""

from typing import Any
from xml.etree import ElementTree

import pytest

from directory.extensions import db
from directory.services.catalog import sitemap
from tests.conftest import Statements
from tests.support import extras
from tests.support.factories import Api, World

SITE = "https://projects.example"
ALLOWED = "User-agent: *\nDisallow: /*?*tag=*,\nDisallow: /*?*tag=*%2C\n"  # all but lists of several tags
LISTS = f"{SITE}/sitemap-lists.xml"
NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@pytest.fixture
def site(make_app: Any) -> Api:
    """An anonymous caller of a site whose address is known."""
    return Api(make_app(SITE_URL=SITE))


def locations(answer: Any, root: str) -> list[str]:
    assert (answer.status_code, answer.content_type) == (200, "application/xml")
    found = ElementTree.fromstring(answer.data)
    assert found.tag == f"{NAMESPACE}{root}"
    return [str(each.text) for each in found.iter(f"{NAMESPACE}loc")]


def mapped(site: Api) -> list[list[str]]:
    """The addresses in each part of the sitemap that lists projects."""
    parts = locations(site.get("/sitemap.xml"), "sitemapindex")
    assert all(part.startswith(f"{SITE}/sitemap-") for part in parts)
    parts = [part for part in parts if part != LISTS]
    return [locations(site.get(part.removeprefix(SITE)), "urlset") for part in parts]


def test_live_projects_are_listed_by_their_pages_with_their_last_change(world: World, site: Api) -> None:
    one, two = world.project(title="Grüße & more"), world.project()
    for status in ("pending", "rejected"):
        world.project(status=status)
    slugs = {number: world.stored(number)["slug"] for number in (one, two)}
    assert mapped(site) == [[f"{SITE}/p/{one}/grusse-more", f"{SITE}/p/{two}/{slugs[two]}"]]
    changed = ElementTree.fromstring(site.get("/sitemap-1.xml").data).findtext(f".//{NAMESPACE}lastmod")
    assert changed == site.get(f"/api/projects/{one}").json["updated_at"]


def test_parts_hold_every_live_project_once_and_empty_ones_are_left_out(
    world: World, site: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemap, "SIZE", 3)
    sitemap._parts.cache_clear()
    owner = world.user()
    # Parts: of three, of two, of none, of one.
    states = ["live", "live", "live", "live", "pending", "live", "rejected", "rejected", "pending", "live"]
    projects = {world.project(owner, status): status for status in states}
    live = [number for number, status in projects.items() if status == "live"]
    found = [[int(address.split("/")[4]) for address in part] for part in mapped(site)]
    assert found == [live[:3], live[3:5], live[5:]]
    found = locations(site.get("/sitemap.xml"), "sitemapindex")
    assert found == [f"{SITE}/sitemap-{n}.xml" for n in (1, 2, 4, "lists")]
    for nothing in ("3", "5", "0", "x", "9223372036854775807", "3074457345618258603", "99999999999999999999"):
        assert site.get(f"/sitemap-{nothing}.xml").status_code == 404
    sitemap._parts.cache_clear()


def test_categories_and_tags_with_a_live_project_are_listed(world: World, site: Api) -> None:
    world.category("empty")
    lists = ["/", "/best", *(["/picked"] if "picks" in extras.ON else [])]
    assert locations(site.get("/sitemap-lists.xml"), "urlset") == [f"{SITE}{path}" for path in lists]
    world.project(category="web", tags=["csv", "charts"])
    world.project(category="web", tags=["csv"])
    world.project(status="pending", category="secret", tags=["hidden"])
    found = locations(site.get("/sitemap-lists.xml"), "urlset")
    assert found == [f"{SITE}{path}" for path in (*lists, "/categories/web", "/tags/csv", "/tags/charts")]
    assert LISTS in locations(site.get("/sitemap.xml"), "sitemapindex")
    assert all(site.get(address.removeprefix(SITE)).status_code == 200 for address in found)


def test_an_empty_directory_has_a_sitemap_without_parts(site: Api) -> None:
    assert mapped(site) == []
    assert site.get("/sitemap-1.xml").status_code == 404


def test_robots_are_let_in_and_led_to_the_sitemap(site: Api) -> None:
    answer = site.get("/robots.txt")
    assert answer.content_type == "text/plain; charset=utf-8"
    assert answer.text == f"{ALLOWED}\nSitemap: {SITE}/sitemap.xml\n"


@pytest.mark.parametrize("settings", [{}, {"SITE_URL": SITE, "WEB_ENABLED": "false"}])
def test_without_an_address_or_without_pages_there_is_no_sitemap(make_app: Any, world: World, settings: Any) -> None:
    world.project()
    api = Api(make_app(**settings))
    for path in ("/sitemap.xml", "/sitemap-1.xml"):
        answer = api.get(path)
        assert (answer.status_code, answer.json["code"]) == (404, "not_found")
    assert api.get("/robots.txt").text == ALLOWED
    assert api.get("/favicon.svg").status_code == 200
    assert api.get("/").status_code == 200


def test_the_icon_is_an_image(site: Api) -> None:
    answer = site.get("/favicon.svg")
    assert answer.content_type == "image/svg+xml"
    assert ElementTree.fromstring(answer.data).tag == "{http://www.w3.org/2000/svg}svg"
    assert "style" not in answer.text  # which the policy of every answer would refuse


def test_they_pass_over_parameters_and_are_read_again_only_when_changed(world: World, site: Api) -> None:
    world.project()
    for path in ("/robots.txt", "/favicon.svg", "/sitemap.xml", "/sitemap-1.xml"):
        answer = site.get(f"{path}?utm_source=chat&x=1&x=2")
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "public, no-cache")
        again = site.get(path, headers={"If-None-Match": answer.headers["ETag"]})
        assert (again.status_code, again.data) == (304, b"")
        assert site.post(path).status_code == 405


def test_a_part_and_the_index_take_one_statement_each(
    world: World, site: Api, make_app: Any, statements: Statements
) -> None:
    for _ in range(3):
        world.project()
    with world.app.app_context():
        statements.clear()
        assert sitemap.parts() == [1]
        assert len(sitemap.part(1)) == 3
        assert len(statements) == 2
        db.session.rollback()
