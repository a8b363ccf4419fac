"""Addresses that people type and programs ask for: icons, descriptions, the help, the lists of categories and tags."""

import io
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from PIL import Image

from directory.pages import addresses
from tests.pages.conftest import head_of, text_of
from tests.pages.test_own_site import SVG, folder, site  # noqa: F401 (fixtures)
from tests.support.factories import Api

URL = "https://makers.example"


def test_the_icons_are_pictures_of_the_kind_that_their_name_says(api):
    for path, media_type, kind, size in (
        ("/favicon.ico", "image/x-icon", "ICO", (32, 32)),
        ("/apple-touch-icon.png", "image/png", "PNG", (180, 180)),
    ):
        answer = api.get(path)
        assert (answer.status_code, answer.content_type) == (200, media_type)
        picture = Image.open(io.BytesIO(answer.data))
        assert (picture.format, picture.size) == (kind, size)


def test_the_operators_logo_is_the_icon_under_every_name(make_app, tmp_path):
    (tmp_path / "logo.svg").write_text(SVG)
    api = Api(make_app(SITE_LOGO=tmp_path / "logo.svg"))
    for path in ("/favicon.ico", "/apple-touch-icon.png"):
        answer = api.get(path)
        assert answer.status_code == 302
        assert api.get(answer.headers["Location"]).data == SVG.encode()
    [icon] = api.get("/manifest.webmanifest").json["icons"]
    assert api.get(icon["src"]).content_type == icon["type"] == "image/svg+xml"


def test_the_manifest_names_the_site_and_icons_that_exist(make_app):
    api = Api(make_app(SITE_NAME="Makers", SITE_TAGLINE="What we make"))
    answer = api.get("/manifest.webmanifest")
    assert answer.content_type == "application/manifest+json"
    assert '<link rel="manifest" href="/manifest.webmanifest">' in head_of(api.get("/"))
    described = answer.get_json(force=True)
    assert (described["name"], described["description"], described["start_url"]) == ("Makers", "What we make", "/")
    for icon in described["icons"]:
        assert api.get(icon["src"]).content_type == icon["type"]


def test_a_browser_can_search_by_the_description_of_the_search(make_app, world):
    world.project(title="Tea & <Co>")
    api = Api(make_app(SITE_NAME="Makers & <friends> of the sea", SITE_URL=URL))
    assert 'type="application/opensearchdescription+xml"' in head_of(api.get("/"))
    answer = api.get("/opensearch.xml")
    assert answer.content_type == "application/opensearchdescription+xml"
    space = "{http://a9.com/-/spec/opensearch/1.1/}"
    found = ElementTree.fromstring(answer.data)
    assert found.findtext(f"{space}ShortName") == "Makers & <friend"
    template = found.find(f"{space}Url").get("template")
    assert template == f"{URL}/?q={{searchTerms}}"
    assert "Tea & <Co>" in text_of(api.get(template.removeprefix(URL).replace("{searchTerms}", "tea")))
    unknown = Api(make_app())
    assert unknown.get("/opensearch.xml").status_code == 404
    assert "opensearch" not in unknown.get("/").text


def test_weaknesses_are_reported_where_the_setting_says_until_a_year_from_now(make_app):
    assert Api(make_app()).get("/.well-known/security.txt").status_code == 404
    for settings, more in (({}, []), ({"SITE_URL": URL}, [f"Canonical: {URL}/.well-known/security.txt"])):
        answer = Api(make_app(SECURITY_CONTACT="mailto:sec@makers.example", **settings)).get(
            "/.well-known/security.txt"
        )
        assert answer.content_type == "text/plain; charset=utf-8"
        contact, expires, *rest = answer.text.splitlines()
        assert (contact, rest) == ("Contact: mailto:sec@makers.example", more)
        ends = datetime.fromisoformat(expires.removeprefix("Expires: "))
        assert timedelta(days=363) < ends - datetime.now(UTC) <= timedelta(days=365)


@pytest.mark.parametrize("name", addresses.ALIASES)
def test_another_name_leads_to_its_page_unless_the_operator_has_one(api, site, name):  # noqa: F811
    answer = api.get(f"/{name}")
    assert (answer.status_code, answer.headers["Location"]) == (308, addresses.ALIASES[name])
    assert api.get(addresses.ALIASES[name]).status_code == 200
    own = site({f"pages/{name}.md": f"# Our {name}\n\nWritten by us."}).get(f"/{name}")
    assert own.status_code == 200
    assert "Written by us." in text_of(own)


LINKS = '[{"label": "Mail", "url": "mailto:us@example.org"}, {"label": "Imprint", "url": "/imprint"}]'


def test_the_help_says_what_the_settings_ask_for(make_app, site):  # noqa: F811
    by_settings = {
        (): "unless it changes only category and tags", (("REVIEW_ON_EDIT", "never"),): "Help",
        (("REQUIRE_VERIFIED_EMAIL", "vote"), *MAILED): "Only members who have confirmed their e-mail address can vote",
    }  # fmt: skip
    for settings, words in by_settings.items():
        text = text_of(Api(make_app(**dict(settings))).get("/help"))
        assert words in text
        assert ("A change of a listed project is reviewed too" in text) == (("REVIEW_ON_EDIT", "never") not in settings)
        for off in ("ask for another look", "Report this project"):
            assert off not in text
        assert "Reviewers may ask for changes first" in text
        assert "Without an answer it is rejected after 30 days." in text
    page = Api(make_app(CHANGES_DAYS="0", SITE_LINKS=LINKS)).get("/help")
    assert "Without an answer" not in text_of(page)
    mail = '<a href="mailto:us@example.org" dir="auto" rel="noopener">Mail</a>'
    assert f'write to the people who run Project Directory: {mail}, <a href="/imprint"' in page.text
    assert "Written by us." in text_of(site({"pages/help.md": "# Help\n\nWritten by us."}).get("/help"))


MAILED = (("MAIL_URL", "smtp://localhost:25"), ("MAIL_FROM", "a@makers.example"), ("SITE_URL", URL))


def test_all_categories_and_tags_are_listed_with_their_live_projects(api, world):
    for path in ("/categories", "/tags"):
        assert api.get(path).status_code == 200
    world.category("games", "Games")
    for tags in (["zebra", "a-b"], ["a-b", "ab"]):
        world.project(category="tools", tags=tags)
    world.project(status="pending", category="tools", tags=["hidden"])
    text = text_of(api.get("/categories"))
    assert "2 projects" in text
    assert "0 projects" in text
    page = api.get("/tags")
    assert 'a href="/tags/hidden"' not in page.text
    places = [page.text.index(f'href="/tags/{name}"') for name in ("a-b", "ab", "zebra")]
    assert places == sorted(places)
    world.project(tags=["fresh"])
    assert 'href="/tags/fresh"' in api.get("/tags").text


def test_many_tags_are_on_several_pages(api, world, monkeypatch):
    monkeypatch.setattr(addresses, "TAGS_PAGE", 2)
    world.project(tags=["a", "b", "c"])
    first, second = api.get("/tags"), api.get("/tags?page=2")
    assert 'rel="next" href="/tags?page=2"' in first.text
    assert 'href="/tags/c"' not in first.text
    assert 'rel="prev" href="/tags"' in second.text
    assert 'href="/tags/c"' in second.text
    assert 'rel="next"' not in second.text
    for page in ("3", "x", "0"):
        assert api.get(f"/tags?page={page}").status_code == 404


def test_password_managers_are_led_to_the_account(api):
    answer = api.get("/.well-known/change-password")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/account")
