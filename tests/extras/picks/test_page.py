"""The page of the picks, and the shelf of the latest on the first page."""

import re
from datetime import timedelta
from typing import Any

import pytest

from directory.cache import snapshot_source
from directory.extras.picks import picks
from directory.models import now
from tests.support.factories import Api, World


def test_the_page_has_the_picks_with_their_words_the_latest_first(
    make_app: Any, world: World, api: Api, admin: Api
) -> None:
    empty = api.get("/picked")
    assert empty.status_code == 200
    assert "The reviewers have picked nothing yet." in empty.text
    lamp, jar = world.project(title="Lamp"), world.project(title="Jar")
    world.project(title="Spoon")
    for project, words in ((lamp, "It <b>shines</b>."), (jar, "It holds.")):
        admin.put(f"/api/review/projects/{project}/pick", {"words": words})
    page = api.get("/picked").text
    assert "<h1>Picked</h1>" in page
    places = [page.index(text) for text in (">Jar<", "It holds.", ">Lamp<", "It &lt;b&gt;shines&lt;/b&gt;.")]
    assert places == sorted(places)
    assert "Spoon" not in page
    assert 'rel="canonical" href="/picked"' in page
    assert "projects.atom?picked=true" in page
    feed = api.get("/api/projects.atom?picked=true").text
    assert "<summary>It &lt;b&gt;shines&lt;/b&gt;.\n" in feed
    assert "shines" not in api.get("/api/projects.atom").text
    for place in ("/", "/best", "/picked"):
        assert api.get(place).text.count('href="/picked"') >= 2  # in the tabs and the footer
    assert "/picked" in Api(make_app(SITE_URL="https://a.example")).get("/sitemap-lists.xml").text
    assert "/picked" not in Api(make_app(EXTRAS="-picks")).get("/").text
    assert [api.get(f"/picked?page={page}").status_code for page in (2, 9_999)] == [404, 404]  # past the last, too deep
    assert "It holds." in world.caller(world.user()).get("/picked").text
    assert "It holds." not in api.get("/").text


def test_the_first_shelf_has_the_latest_six_of_ninety_days_with_their_words_if_there_are_three(
    world: World, api: Api, admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shelf() -> list[tuple[str, str]]:
        shown = text().partition(">Picked</h2>")[2].partition("</section>")[0]
        return re.findall(r'<h3 dir="auto"><a[^>]*>([^<]*).*?class="picked" dir="auto">([^<]*)', shown, re.DOTALL)

    def text() -> str:
        return str(api.get("/").text)

    made = [world.project(title=f"Lamp {n}", votes=1) for n in range(8)]
    for n, project in enumerate(made[:2]):
        admin.put(f"/api/review/projects/{project}/pick", {"words": f"Why {n}."})
    assert shelf() == []
    for n, project in enumerate(made[2:], 2):
        admin.put(f"/api/review/projects/{project}/pick", {"words": f"Why {n}."})
    assert shelf() == [(f"Lamp {n}", f"Why {n}.") for n in (7, 6, 5, 4, 3, 2)]
    assert "Best of this week" not in text()  # two are left
    world.project(title="Jar", votes=1)
    page = text()
    assert page.index(">Picked</h2>") < page.index(">Best of this week</h2>")
    assert shelf() == [(f"Lamp {n}", f"Why {n}.") for n in (7, 6, 5, 4, 3, 2)]
    best = page.partition(">Best of this week</h2>")[2].partition("</section>")[0]
    assert re.findall(r'<h3 dir="auto"><a[^>]*>([^<]*)', best) == ["Jar", "Lamp 1", "Lamp 0"]
    admin.delete(f"/api/review/projects/{made[7]}/pick")
    assert [name for name, _ in shelf()] == [f"Lamp {n}" for n in (6, 5, 4, 3, 2, 1)]
    later = now() + timedelta(days=90)
    for module in (picks, snapshot_source):
        monkeypatch.setattr(module, "now", lambda: later)
    assert 'class="picked"' not in text()
