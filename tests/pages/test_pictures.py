"""The pictures of a project on its page: the strip, and what search engines read."""

import json
import re
from html import unescape

import pytest

from tests.support.factories import Api
from tests.support.pictures import picture


@pytest.fixture
def ada(world):
    return world.user("ada")


def test_the_page_of_a_project_shows_its_pictures_in_order_each_with_its_size(app, world, ada):
    project = world.project(ada)
    made = [
        world.picture(project, f'<{n}> "words"', picture(size))
        for n, size in enumerate([(1600, 1000), (100, 900), (900, 9)])
    ]
    page = Api(app).get(f"/p/{project}/{world.stored(project)['slug']}").text
    assert re.search('<nav class="crumbs[^>]*><a href="/">.*</a> <a href="/categories/', page)
    strip = page.partition('<div class="pictures"')[2].partition("</div>")[0]
    images = re.findall("<img [^>]*>", strip)
    assert [re.search('src="([^"]*)"', each)[1] for each in images] == [each["640"] for each in made]
    assert [re.search('alt="([^"]*)"', each)[1] for each in images] == [
        f"&lt;{n}&gt; &#34;words&#34;" for n in range(3)
    ]
    sizes = [re.search('width="(\\d+)" height="(\\d+)"', each).groups() for each in images]
    assert sizes == [("1280", "800"), ("100", "900"), ("900", "9")]
    assert ['loading="lazy"' in each for each in images] == [False, True, True]
    assert [unescape(each) for each in re.findall('<a href="([^"]*)"', strip)] == [each["1280"] for each in made]


def test_search_engines_read_the_addresses_of_the_pictures_in_their_order(make_app, world, ada):
    project = world.project(ada)
    path = f"/p/{project}/{world.stored(project)['slug']}"
    api = Api(make_app(SITE_URL="https://projects.example"))
    assert "screenshot" not in data_of(api.get(path))
    made = [world.picture(project, colour, picture(colour=colour)) for colour in ("red", "green")]
    assert data_of(api.get(path))["screenshot"] == [f"https://projects.example{each['1280']}" for each in made]


def data_of(answer):
    """The JSON-LD of a project's page."""
    software, _ = json.loads(re.search('<script type="application/ld[+]json">(.*?)</script>', answer.text)[1])
    return software


def test_a_page_without_pictures_has_no_strip(app, world, ada):
    project = world.project(ada)
    assert 'class="pictures"' not in Api(app).get(f"/p/{project}/{world.stored(project)['slug']}").text
