"""The operator's words in the languages of the site: names of categories, tagline, links, own pages; other words."""

import re
from pathlib import Path
from typing import Any

import pytest

from directory.http.site_dir import SiteError
from tests.pages.conftest import head_of, text_of
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api, World

GERMAN = """
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"

msgctxt "category"
msgid "Tools"
msgstr "Werkzeuge & mehr"

msgctxt "category"
msgid "For {work}"
msgstr "Zum Arbeiten"

msgctxt "category"
msgid "Art"
msgstr "Zeichnen"

msgctxt "site"
msgid "Made here"
msgstr "Hier gemacht"

msgctxt "site"
msgid "Small things"
msgstr "Kleines"

msgctxt "site"
msgid "Chat"
msgstr "Plaudern"
"""
FILES = {
    "front.md": "Welcome.", "front.de.md": "Willkommen.", "pages/imprint.md": "# Imprint\n\nBy us.",
    "pages/imprint.de.md": "# Impressum\n\nVon uns.", "pages/privacy.md": "# Privacy", "locale/de/own.po": GERMAN,
}  # fmt: skip
SETTINGS = {
    "SITE_LANGUAGES": "en,de", "SITE_HEADLINE": "Made here", "SITE_TAGLINE": "Small things",
    "SITE_LINKS": '[{"label": "Chat", "url": "https://chat.example.org"}]', "SITE_URL": "https://example.org",
}  # fmt: skip


@pytest.fixture
def make_site(make_app: Any, tmp_path: Path) -> Any:
    """Makes a site in English and German with files of the operator."""

    def make(files: dict[str, str] = FILES, **settings: str) -> Any:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return make_app(SITE_DIR=str(tmp_path), **{**SETTINGS, **settings})

    return make


def fill(app: Any) -> dict[str, Any]:
    """Categories whose names have another order in German, and a project."""
    world = World(app)
    world.category("art", name="Art")
    project: dict[str, Any] = (
        Api(app).get(f"/api/projects/{world.project(world.user('ada'), title='Lamp', tags=['web'])}").json
    )
    with app.app_context():
        from directory.extensions import db
        from directory.models import Category

        db.session.query(Category).filter_by(slug="tools").one().description = "For {work}"
        db.session.commit()
    return project


@pytest.mark.parametrize("cache", ["true", "false"])
def test_categories_have_their_names_in_the_language_of_the_page(make_site: Any, cache: str) -> None:
    app = make_site(RESPONSE_CACHE=cache)
    project = fill(app)
    api, german = Api(app), {"Accept-Language": "de"}
    paths = ("/", "/categories", "/categories/tools", "/categories/tools?tag=web", f"/p/{project['id']}/lamp")
    for path in paths * 2:  # made, and with the cache stored
        plain, translated = api.get(path).text, api.get(path, headers=german).text
        assert ">Tools<" in plain, path
        assert "Werkzeuge" not in plain.replace("werkzeuge", ""), path
        assert ">Werkzeuge &amp; mehr<" in translated, path
        assert ">Tools<" not in translated, path
    for path in ("/?q=tools", "/?q=werkzeuge+%26+mehr"):
        assert "<bdi>Werkzeuge &amp; mehr</bdi></a>" in api.get(path, headers=german).text
    for path, order in (("/categories", ["art", "tools"]), ("/categories?lang=de", ["tools", "art"])):
        main = api.get(path).text.partition("<main")[2]
        assert re.findall('"/categories/(art|tools)[?"]', main) == order
    head = head_of(api.get("/categories/tools?lang=de"))
    assert "<title>Werkzeuge &amp; mehr · " in head
    assert '<meta name="description" content="Zum Arbeiten">' in head
    assert '<meta property="og:title" content="Tools">' in head
    assert '<meta property="og:description" content="For {work}">' in head
    assert api.get("/api/categories", headers=german).json["items"][1]["name"] == "Tools"


def test_the_form_of_a_project_offers_categories_in_its_language(make_site: Any) -> None:
    app = make_site()
    fill(app)
    browser = Browser(app)
    browser.call("POST", "/sign-in", data={"login": "ada", "password": PASSWORD})
    page = browser.call("GET", "/submit?lang=de").text
    assert re.findall('<option value="(tools|art)">([^<]*)<', page) == [
        ("tools", "Werkzeuge &amp; mehr"), ("art", "Zeichnen"),
    ]  # fmt: skip


def test_the_headline_the_tagline_and_the_links_are_in_the_language_of_the_page(make_site: Any) -> None:
    app = make_site()
    page = Api(app).get("/?lang=de").text
    assert '<h1 dir="auto">Hier gemacht</h1>\n<p class="lead" dir="auto">Kleines</p>' in page
    assert ">Plaudern</a>" in page
    assert '<meta name="description" content="Kleines">' in page
    assert '<meta property="og:description" content="Small things">' in page
    german, paths = {"Accept-Language": "de"}, ("/api/projects.atom", "/manifest.webmanifest", "/opensearch.xml")
    assert all("Small things" in Api(app).get(path, headers=german).text for path in paths[:2])
    assert "<Description>Search " in Api(app).get(paths[2], headers=german).text


def test_feeds_previews_and_descriptions_for_browsers_are_in_the_language_of_the_site(make_site: Any) -> None:
    app = make_site(SITE_LANGUAGE="de")
    fill(app)
    api = Api(app)
    assert '<meta property="og:description" content="Kleines">' in api.get("/?lang=en").text
    found = [api.get(path).text for path in ("/api/projects.atom", "/manifest.webmanifest", "/opensearch.xml")]
    assert "<subtitle>Kleines</subtitle>" in found[0]
    assert '<category term="tools" label="Werkzeuge &amp; mehr"' in found[0]
    assert '"description":"Kleines"' in found[1]
    assert "<Description>Project Directory durchsuchen</Description>" in found[2]


@pytest.mark.parametrize("cache", ["true", "false"])
def test_own_pages_are_in_the_language_of_the_reader(make_site: Any, cache: str) -> None:
    api, german = Api(make_site(RESPONSE_CACHE=cache)), {"Accept-Language": "de"}
    for _time in range(2):
        plain, translated = api.get("/imprint"), api.get("/imprint", headers=german)
        assert (">By us." in plain.text, ">Von uns." in plain.text) == (True, False)
        assert (">By us." in translated.text, ">Von uns." in translated.text) == (False, True)
        assert "<title>Impressum · " in translated.text
        assert '<meta property="og:title" content="Imprint">' in translated.text
        assert '<meta property="og:description" content="By us.">' in translated.text
        for answer, titles in ((plain, ["Imprint", "Privacy"]), (translated, ["Impressum", "Privacy"])):
            footer = answer.text.partition("<footer")[2]
            assert re.findall('<a href="/(?:imprint|privacy)" dir="auto">([^<]*)</a>', footer) == titles
        assert ">Welcome.</p>" in api.get("/").text
        assert ">Willkommen.</p>" in api.get("/", headers=german).text
    assert "Privacy" in text_of(api.get("/privacy", headers=german))
    assert api.get("/imprint.de").status_code == 404
    assert "imprint.de" not in api.get("/sitemap-lists.xml").text


def test_previews_of_own_pages_are_in_the_language_of_the_site(make_site: Any) -> None:
    api = Api(make_site(SITE_LANGUAGE="de"))
    assert '<meta property="og:title" content="Impressum">' in api.get("/imprint?lang=en").text
    assert "<title>Imprint · " in api.get("/imprint?lang=en").text


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("pages/imprint.fr.md", "# I", "pages/imprint.fr.md: fr is not among SITE_LANGUAGES: en, de"),
        ("front.fr.md", "I", "front.fr.md: fr is not among SITE_LANGUAGES: en, de"),
        ("pages/terms.de.md", "# I", "pages: there is a translation of terms.md, but not the page itself"),
        ("pages/imprint.de.md", "I", 'pages/imprint.de.md: does not begin with its title, as "# Imprint"'),
        ("pages/imprint..md", "# I", "pages/imprint..md: a page is a file [name].md or [name].[language].md"),
    ],
)
def test_a_translation_that_cannot_be_used_stops_the_start(make_site: Any, file: str, text: str, line: str) -> None:
    with pytest.raises(SiteError, match=re.escape(line)):
        make_site({**FILES, file: text})


def test_a_translation_may_be_named_by_its_tag_however_that_is_written(make_site: Any) -> None:
    site = make_site({"pages/imprint.md": "# Imprint", "pages/imprint.pt-br.md": "# Sobre"}, SITE_LANGUAGES="en,pt-BR")
    assert "<title>Sobre · " in Api(site).get("/imprint?lang=pt-BR").text
