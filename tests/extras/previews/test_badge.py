"""The badge of a project: what it says, to whom, and until when."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import ImageFont
from sqlalchemy import update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.previews import cards
from directory.extras.previews.badge_drawing import LIGHT, drawn
from directory.models import Project
from tests.support.factories import Api, World

SVG = "{http://www.w3.org/2000/svg}"
WEEK_48 = datetime(2026, 11, 23, tzinfo=UTC)  # its first instant


def published(world: World, at: datetime, votes: int, **fields: Any) -> int:
    project = world.project(votes=votes, **fields)
    with world.app.app_context():
        dated = update(Project).where(Project.id == project).values(published_at=at)
        transaction(lambda: db.session.execute(dated))
        db.session.remove()
    return project


def said(caller: Api, project: int) -> str:
    answer = caller.get(f"/p/{project}/badge.svg")
    assert (answer.status_code, answer.content_type) == (200, "image/svg+xml")
    return " | ".join(text.text or "" for text in ElementTree.fromstring(answer.data).iter(f"{SVG}text"))


def test_it_says_who_leads_a_week_as_the_list_of_the_week_does(world: World, api: Api) -> None:
    voters = [world.user() for _ in range(3)]
    none = published(world, WEEK_48 - timedelta(days=7), 0)
    first = published(world, WEEK_48, 1)
    second = published(world, WEEK_48 + timedelta(days=7, microseconds=-1), 0)
    other = published(world, WEEK_48 + timedelta(days=7), 2)
    name = "Project Directory"
    assert said(api, none) == f"{name} | 0 votes"
    assert said(api, first) == f"{name} | 1 vote · #1 of week 48"
    assert said(api, second) == f"{name} | 0 votes"
    assert said(api, other) == f"{name} | 2 votes · #1 of week 49"
    world.vote(second, voters[0])
    # Of equal ones the newest is the first, as in the list.
    assert api.get("/api/projects?published=2026-W48&sort=upvotes").json["items"][0]["id"] == second
    assert (said(api, first), said(api, second)) == (f"{name} | 1 vote", f"{name} | 1 vote · #1 of week 48")
    world.vote(first, voters[1])
    assert (said(api, first), said(api, second)) == (f"{name} | 2 votes · #1 of week 48", f"{name} | 1 vote")
    world.caller(world.admin()).put(f"/api/admin/projects/{first}/unpublish")
    assert api.get(f"/p/{first}/badge.svg").status_code == 404
    assert said(api, second) == f"{name} | 1 vote · #1 of week 48"


@pytest.mark.parametrize("status", ["pending", "rejected"])
def test_only_a_live_project_has_one(world: World, status: str) -> None:
    ada = world.user()
    project = world.project(ada, status=status)
    for caller in (Api(world.app), world.caller(ada), world.caller(world.admin())):
        assert caller.get(f"/p/{project}/badge.svg").status_code == 404


def test_other_sites_may_show_it_in_either_colours_and_keep_it_until_it_changes(world: World, api: Api) -> None:
    path = f"/p/{world.project()}/badge.svg"
    light = api.get(path)
    assert light.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "default-src 'none'" in light.headers["Content-Security-Policy"]
    assert light.headers["Cache-Control"] == "public, no-cache"
    assert api.get(path, headers={"If-None-Match": light.headers["ETag"]}).status_code == 304
    assert [api.get(f"{path}?theme={theme}").data == light.data for theme in ("light", "dark", "DARK", "")] == [
        True, False, True, True
    ]  # fmt: skip


@pytest.mark.parametrize("name", ['</text><script>alert(1)</script>&"', "x" * 200, "日本語のソフトウェア", "'"])
def test_any_name_is_text_in_it(name: str) -> None:
    drawing = drawn(name, "1,234 votes", LIGHT)
    root = ElementTree.fromstring(drawing)
    assert {each.tag.removeprefix(SVG) for each in root.iter()} == {"svg", "title", "clipPath", "rect", "g", "text"}
    shown = next(root.iter(f"{SVG}text")).text or ""
    assert shown == name or (len(shown) <= 40 and name.startswith(shown.removesuffix("…")))
    assert not any(key.startswith("on") or "style" in key for each in root.iter() for key in each.attrib)


@pytest.mark.parametrize("text", ["WWWWWWWWWW", "iiiiiiiiii", "Project Directory", "Проекты", "Größe\u2069"])
def test_a_text_has_the_room_that_its_letters_take_in_a_font(text: str) -> None:
    font = ImageFont.truetype(str(cards.FONTS / "NotoSans-Bold.ttf"), 12, layout_engine=ImageFont.Layout.BASIC)
    shown = next(ElementTree.fromstring(drawn(text, "1 vote", LIGHT)).iter(f"{SVG}text"))
    assert abs(float(shown.get("textLength", "")) - font.getlength(text.strip("\u2069"))) < 2


def test_letters_that_no_font_of_ours_has_get_the_room_of_their_script() -> None:
    lengths = [
        float(next(ElementTree.fromstring(drawn(text, "1 vote", LIGHT)).iter(f"{SVG}text")).get("textLength", ""))
        for text in ("語" * 10, "م" * 10)
    ]
    assert lengths == [130, 72]


@pytest.mark.parametrize("tag", ["en", "ar"])
def test_it_says_its_language_and_is_drawn_in_its_direction(make_app: Any, tag: str) -> None:
    app = make_app(SITE_LANGUAGE=tag, SITE_NAME="Lamps, Ltd.")
    project = World(app).project(votes=3)
    root = ElementTree.fromstring(Api(app).get(f"/p/{project}/badge.svg").data)
    is_mirrored = tag == "ar"
    assert (root.get("lang"), root.get("direction")) == (tag, "rtl" if is_mirrored else "ltr")
    name, votes = root.iter(f"{SVG}text")
    assert name.text == ("\u2068Lamps, Ltd.\u2069" if is_mirrored else "Lamps, Ltd.")
    assert (float(name.get("x", "")) > float(votes.get("x", ""))) == is_mirrored
    # Each text is in the middle of its ground, and isolates take no room of it.
    grounds = [(float(each.get("x", "")), float(each.get("width", ""))) for each in [*root.iter(f"{SVG}rect")][1:3]]
    for text, (start, width) in zip((name, votes), grounds, strict=True):
        assert (float(text.get("x", "")), float(text.get("textLength", ""))) == (start + width / 2, width - 20)


def test_its_owner_gets_the_html_that_shows_it_elsewhere(make_app: Any, world: World) -> None:
    ada = world.user()
    live, waits = world.project(ada, title="Lamp"), world.project(ada, status="pending")
    owner = Api(make_app(SITE_URL="https://projects.example", SITE_NAME='"A" & B'), world.caller(ada).token)
    page = owner.get(f"/mine/{live}").text
    root = "https://projects.example"
    html = f'<a href="{root}/p/{live}/lamp"><img src="{root}/p/{live}/badge.svg" height="28" '
    html += 'alt="&quot;A&quot; &amp; B"></a>'
    assert html.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;") in page
    assert f'src="/p/{live}/badge.svg"' in page
    assert all(shown in page for shown in (f"<code>{root}/p/{live}/lamp</code>", f'src="/p/{live}/card.png"'))
    assert "badge.svg" not in owner.get(f"/mine/{waits}").text
    assert "badge.svg" not in Api(world.app, world.caller(ada).token).get(f"/mine/{live}").text


def test_its_owner_reads_its_place_in_the_week_of_its_publication_which_later_votes_do_not_move(world: World) -> None:
    ada = world.user()
    projects = [world.project(ada, votes=each) for each in (2, 1, 2, 0)]
    owner = Api(world.app, world.caller(ada).token)

    def places() -> list[list[tuple[str, str]]]:
        pages = [owner.get(f"/mine/{project}").text for project in projects]
        return [re.findall(r"It (is|was) number (\d+) of", page) for page in pages]

    assert places() == [[("is", "2")], [("is", "3")], [("is", "1")], []]
    monday = datetime(2024, 3, 4, tzinfo=UTC)
    end, voters = monday + timedelta(days=7), [world.user() for _ in range(3)]
    projects = [published(world, monday + timedelta(days=day), 0, owner=ada) for day in range(3)]
    published(world, end, 3)
    for number in (1, 2):
        world.vote(projects[0], voters[number], monday)
    world.vote(projects[1], voters[0], end - timedelta(microseconds=1))
    final = [[("was", "1")], [("was", "2")], []]
    assert places() == final
    for project in projects[1:]:
        for voter in voters[project == projects[1] :]:
            world.vote(project, voter, end)
    assert places() == final  # with three votes each of the others has more than the first
    assert "/best/2024-W10" in owner.get(f"/mine/{projects[0]}").text
    world.discount(projects[0], voters[1])  # a vote that does not count leaves the place too, and the newer is first
    assert places() == [[("was", "2")], [("was", "1")], []]


@pytest.mark.parametrize("name", ["badge.svg", "card.png"])
def test_what_other_pages_show_is_in_the_language_of_the_site(make_app: Any, world: World, name: str) -> None:
    client = make_app(SITE_LANGUAGES="en,de,ar", SITE_LANGUAGE="de").test_client()
    path = f"/p/{world.project(title='Lantern', votes=1)}/{name}"
    plain, arabic = client.get(path), client.get(f"{path}?lang=ar", headers={"Accept-Language": "ar"})
    assert plain.data == arabic.data
    assert "Accept-Language" not in arabic.headers.get("Vary", "")
    assert name != "badge.svg" or "1 Stimme · Platz 1 in Woche " in plain.text


def test_without_the_extra_a_page_names_the_logo_and_the_owner_is_offered_no_badge(make_app: Any, world: World) -> None:
    ada = world.user("ada")
    project = world.project(ada, title="Lamp", logo_url="https://logos.example/1.png")
    app = make_app(EXTRAS="-previews", SITE_URL="https://projects.example")
    page = Api(app).get(f"/p/{project}/lamp").text
    assert '<meta property="og:image" content="https://logos.example/1.png">' in page
    assert '<meta name="twitter:card" content="summary">' in page
    assert "badge.svg" not in Api(app, world.caller(ada).token).get(f"/mine/{project}").text
    assert Api(app).get(f"/p/{project}/card.png").status_code == 308  # to the page, as from any other title
