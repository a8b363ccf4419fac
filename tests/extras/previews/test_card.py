"""The card of a project: where it is, who gets it, and which pages name it."""

from io import BytesIO

import pytest
from PIL import Image

from directory.extras.previews import cards
from directory.services.pictures import pictures
from tests.support.factories import Api


def test_a_live_project_has_a_card_that_its_page_names(make_app, world):
    project = world.project(title="Lamp", logo_url="https://logos.example/1.png")
    api = Api(make_app(SITE_URL="https://projects.example"))
    answer = api.get(f"/p/{project}/card.png")
    assert (answer.status_code, answer.content_type) == (200, "image/png")
    assert Image.open(BytesIO(answer.data)).size == (1200, 630)
    assert answer.headers["Cache-Control"] == "public, no-cache"
    again = api.get(f"/p/{project}/card.png", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    page = api.get(f"/p/{project}/lamp").text
    assert f'<meta property="og:image" content="https://projects.example/p/{project}/card.png">' in page
    assert '<meta name="twitter:card" content="summary_large_image">' in page


def test_an_edit_makes_another_card(world, api):
    project = world.project(title="Lamp")
    admin = world.caller(world.admin())
    before = api.get(f"/p/{project}/card.png")
    admin.put(f"/api/projects/{project}", {"tagline": "Another"})
    assert api.get(f"/p/{project}/card.png").headers["ETag"] != before.headers["ETag"]


@pytest.mark.parametrize("title", ["水 Lamp", "🦊", "مصباح", "Lampe\u202f: nuit", "→"])
def test_a_title_of_any_letters_has_one_that_its_page_names(make_app, world, title):
    project = world.project(title=title, logo_url="https://logos.example/1.png")
    api = Api(make_app(SITE_URL="https://projects.example"))
    answer = api.get(f"/p/{project}/card.png")
    assert Image.open(BytesIO(answer.data)).size == (1200, 630)
    page = api.get(f"/p/{project}/{world.stored(project)['slug']}").text
    assert f'<meta property="og:image" content="https://projects.example/p/{project}/card.png">' in page
    assert '<meta name="twitter:card" content="summary_large_image">' in page


@pytest.mark.parametrize("status", ["pending", "rejected"])
def test_a_project_that_is_not_live_has_none_even_for_its_owner(world, api, status):
    user = world.user()
    project = world.project(user, status)
    for caller in (api, world.caller(user), world.caller(world.admin())):
        assert caller.get(f"/p/{project}/card.png").status_code == 404


def test_while_another_is_drawn_too_long_the_answer_is_503_with_retry_after(world, api, monkeypatch):
    project = world.project(title="Waiting lamp")
    monkeypatch.setattr(pictures, "TURN_SECONDS", 0.01)
    with cards._turns.turn(""):
        answer = api.get(f"/p/{project}/card.png")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
