"""The operator's own site: name, colours, pictures, links, pages, templates and files."""

import json
import os
import re
from pathlib import Path

import pytest

from directory.http.site_dir import SiteError
from settings import colours
from tests.pages.conftest import head_of, text_of
from tests.support.factories import Api

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1"/></svg>'
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
BROWSER = {"Accept": "text/html"}


@pytest.fixture
def folder(tmp_path):
    """Writes files of SITE_DIR, and gives the folder."""
    root = tmp_path / "own"

    def write(**files):
        for part in ("pages", "templates", "static"):
            (root / part).mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
        return root

    return write


@pytest.fixture
def site(make_app, folder):
    """A caller of a site whose SITE_DIR holds these files."""
    return lambda files, **settings: Api(make_app(SITE_DIR=folder(**files), **settings))


def test_settings_show_in_the_head_the_header_the_footer_and_the_feed(make_app, world, tmp_path):
    (tmp_path / "logo.svg").write_text(SVG)
    (tmp_path / "card.png").write_bytes(PNG)
    imprint, mail = {"label": "Imprint & <b>", "url": "https://example.org/?a=1&b=2"}, "mailto:a@b.example"
    links = json.dumps([imprint, {"label": "Mail", "url": mail}])
    api = Api(
        make_app(
            SITE_NAME="Makers", SITE_URL="https://makers.example", SITE_TAGLINE="What <we> make", SITE_LINKS=links,
            SITE_LOGO=tmp_path / "logo.svg", SITE_IMAGE=tmp_path / "card.png",
        )
    )  # fmt: skip
    for path in ("/",):
        answer = api.get(path)
        assert '<meta name="description" content="What &lt;we&gt; make">' in head_of(answer)
        logo = re.search('<link rel="icon" href="(/assets/logo-[0-9a-f]{12}.svg)">', answer.text)[1]
        image = re.search('og:image" content="https://makers.example(/assets/image-[0-9a-f]{12}.png)">', answer.text)[1]
        footer = answer.text.partition("</main>")[2] or answer.text
        assert 'href="https://example.org/?a=1&amp;b=2" dir="auto" rel="noopener">Imprint &amp; &lt;b&gt;</a>' in footer
        assert 'href="mailto:a@b.example"' in footer
        assert f'<img class="logo own" src="{logo}"' in answer.text
    assert "What <we> make" in text_of(api.get("/"))
    for path, kind, content in ((logo, "image/svg+xml", SVG.encode()), (image, "image/png", PNG)):
        answer = api.get(path)
        assert (answer.content_type, answer.data) == (kind, content)
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    feed = api.get("/api/projects.atom").text
    assert "<subtitle>What &lt;we&gt; make</subtitle>" in feed
    assert f"<logo>https://makers.example{logo}</logo>" in feed


def test_the_first_page_shows_the_operators_text_below_its_headline(site, world):
    api = site({"front.md": "Welcome to *our* [directory](/help).\n\n<script>x</script>\n"}, SITE_HEADLINE="Made here")
    text = api.get("/").text
    assert '<p dir="auto">Welcome to <em>our</em> <a href="/help" rel="noopener">directory</a>.</p>' in text
    assert "<script>x" not in text
    assert text.index('<h1 dir="auto">Made here</h1>') < text.index("Welcome to") < text.index('class="search"')
    world.project()
    for path in ("/?sort=upvotes", "/?q=project", "/categories/tools", "/front"):
        assert "Welcome to" not in api.get(path).text, path


def test_the_accent_is_at_the_end_of_the_style_sheet_under_a_name_of_its_own(make_app):
    plain, api = Api(make_app()), Api(make_app(SITE_ACCENT="#8a1f4b"))
    styles = [re.search('<link rel="stylesheet" href="([^"]*)">', each.get("/").text)[1] for each in (plain, api)]
    assert styles[0] != styles[1]
    text = api.get(styles[1]).text
    assert text.startswith(plain.get(styles[0]).text)
    assert "--accent: light-dark(#8a1f4b, #" in text
    assert "style=" not in api.get("/").text


@pytest.mark.parametrize("given", ["#0b6b62", "#000", "#00f", "#767676", "#b3261e", "#8a1f4b", "#000080"])
def test_all_colours_of_an_accent_can_be_read(given):
    found = {name: colours._parsed(value) for name, value in colours.accent(given).items()}
    pairs = [
        (colours.WHITE, found["light"]), (found["light"], colours.LIGHT), (found["light"], found["light-soft"]),
        (found["dark"], colours.DARK), (found["dark"], found["dark-soft"]), (found["dark"], (11, 15, 14)),
    ]  # fmt: skip
    assert min(colours.contrast(*pair) for pair in pairs) >= 4.5


def test_a_page_of_markdown_is_a_page_of_the_site(site, world):
    world.project(title="Lamp")
    text = "# Imprint & more #\n\nBy **us**, see [here](/privacy) or [mail](mailto:a@b.example).\n\n## Where\n\n"
    text += "![](/static/x.png)\n<script>alert(1)</script> [x](javascript:alert(1))"
    files = {
        "pages/imprint.md": text,
        "pages/about.md": "# About\r\n",
    }
    api = site(files, SITE_URL="https://a.example")
    answer = api.get("/imprint")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "public, no-cache")
    assert text_of(answer).startswith("Imprint & more By us , see here or mail . Where")
    assert '<link rel="canonical" href="https://a.example/imprint">' in head_of(answer)
    assert '<meta name="description" content="By us, see here or mail. Where' in head_of(answer)
    assert '<a href="/privacy" rel="noopener">here</a>' in answer.text
    assert '<img src="/static/x.png" alt="">' in answer.text
    assert "<script>alert" not in answer.text
    assert 'href="javascript' not in answer.text
    assert re.findall('<a href="(/about|/imprint)"', answer.text.partition("<footer")[2]) == ["/about", "/imprint"]
    assert api.get("/imprint", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert "<loc>https://a.example/imprint</loc>" in api.get("/sitemap-lists.xml").text
    assert api.get("/imprint/").headers["Location"].endswith("/imprint")
    assert api.post("/imprint").status_code == 405
    member = world.caller(world.user("ada"))
    shown = api.get("/imprint", headers={"Authorization": f"Bearer {member.token}"})
    assert "ada" in shown.text
    assert shown.headers["Cache-Control"] == "private, no-cache"


def test_a_template_overrides_ours_and_may_extend_it(site):
    layout = (
        '{% extends "default/layout.html" %}{% block header %}<p>Hello {{ "<you>" }}</p>{{ super() }}{% endblock %}'
    )
    api = site({"templates/layout.html": layout, "templates/_footer.html": "<footer>{{ site.name }}!</footer>"})
    for path in ("/", "/sign-in", "/admin", "/nothing-here"):
        text = api.get(path, headers=BROWSER).text
        assert "<p>Hello &lt;you&gt;</p>" in text
        assert '<header class="top">' in text
        assert "<footer>Project Directory!</footer>" in text


def test_a_template_that_fails_in_use_is_a_fault_of_its_pages_alone(site, world):
    api = site({"templates/list.html": "{{ projects[0].title.nothing.at_all }}"})
    world.project()
    answer = api.get("/")
    assert (answer.status_code, answer.mimetype) == (500, "text/html")
    assert "The service failed." in text_of(answer)
    assert api.get("/sign-in").status_code == 200


def test_where_the_page_of_a_problem_fails_too_the_problem_itself_is_the_answer(site):
    fails = "{% if request.path == '/sign-in' %}{{ site.name.nothing.at_all }}{% endif %}"
    api = site({"templates/_footer.html": fails}, RESPONSE_CACHE="false")
    answer = api.get("/sign-in")
    assert (answer.status_code, answer.json["code"]) == (500, "internal")
    assert api.get("/sign-up").status_code == 200


def test_files_are_served_with_their_type_and_revalidated(site):
    api = site(
        {"static/a/b.css": "p{}", "static/page.html": "<script>1</script>", "static/x": b"\0", "static/.env": "SECRET"}
    )
    answer = api.get("/static/a/b.css")
    assert (answer.status_code, answer.text, answer.content_type) == (200, "p{}", "text/css; charset=utf-8")
    assert (answer.headers["Cache-Control"], answer.headers["X-Content-Type-Options"]) == (
        "public, no-cache",
        "nosniff",
    )
    assert api.get("/static/a/b.css", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert api.get("/static/x").content_type == "application/octet-stream"
    assert api.get("/static/page.html").headers["Content-Security-Policy"].startswith("default-src 'none'")
    wrong = (".env", "../pages/x.md", "%2e%2e/own/static/x", "a/../x", "a//b.css", "", "a", "a/", "X", "x%00", "..%5cx")
    for name in wrong:
        assert api.get(f"/static/{name}").status_code in (404, 308)
        assert "SECRET" not in api.get(f"/static/{name}").text


HEADED = "# Title\n"
WRONG = [
    ({"pages/imprint.md": "No title"}, "pages/imprint.md: does not begin with its title"),
    ({"pages/Imprint.md": HEADED}, "pages/Imprint.md: a page is a file"),
    ({"pages/a/b.md": HEADED}, "a/b.md: a page is a file"),
    ({"pages/x.txt": HEADED}, "x.txt: a page is a file"),
    ({"pages/x.md": b"# \xff"}, "x.md: is not UTF-8 at byte 2"),
    ({"front.md": b"a\xff"}, "front.md: is not UTF-8 at byte 1"),
    ({"synonyms.txt": b"a, b\n\xff"}, "synonyms.txt: is not UTF-8 at byte 5"),
    ({"synonyms.txt": "# photos\n\nphoto"}, "synonyms.txt:3: has one word alone"),
    ({"pages/x.md": HEADED + "x" * 300_000}, "x.md: is larger than 256 KiB"),
    *(({f"pages/{name}.md": HEADED}, f"/{name} is an address of the service") for name in ("submit", "api", "static")),
    ({"templates/list.html": "{% if %}"}, "templates/list.html:1: Expected an expression"),
    ({"templates/list.html": "\n{{ 1 | nothing }}"}, "list.html:2: No filter named 'nothing'"),
    ({"templates/list.html": '{% include "nothing.html" %}'}, "list.html: there is no template 'nothing.html'"),
    ({"templates/list.html": "{{ proyects }}"}, "list.html: no page has a value of the name 'proyects'"),
    ({"templates/_footer.html": "\n\n{{ site.name.nothing.at_all }}"}, "_footer.html:3: "),
    ({"templates/x.txt": ""}, "x.txt: a template is a file"),
    ({"static/big": bytes(8 * 2**20 + 1)}, "static/big: is larger than 8192 KiB"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "why"), WRONG)
def test_what_is_wrong_with_the_folder_stops_the_start_with_one_line(site, files, why):
    with pytest.raises(SiteError) as caught:
        site(files)
    line = str(caught.value.code)
    assert line.startswith("SITE_DIR: ")
    assert why in line
    assert "\n" not in line


@pytest.mark.parametrize(("link", "target"), [("secret", "/etc/passwd"), ("out", ".."), ("in", "../pages")])
def test_a_link_out_of_the_folder_or_to_a_folder_stops_the_start(make_app, folder, link, target):
    root = folder(**{"pages/x.md": HEADED})
    Path(root, "static", link).symlink_to(target)
    with pytest.raises(SiteError, match="is a link"):
        make_app(SITE_DIR=root)


def made_a_folder(place: Path) -> None:
    place.mkdir(parents=True)


@pytest.mark.parametrize(
    ("place", "make", "why"),
    [
        ("front.md", made_a_folder, "front.md: is not a file"),
        ("front.en.md", made_a_folder, "front.en.md: is not a file"),
        ("front.md", os.mkfifo, "front.md: is not a file"),
        ("front.md", lambda place: place.symlink_to("nothing.md"), "front.md: is not a file"),
        ("front.md", lambda place: place.symlink_to("front.md"), ""),
        ("synonyms.txt", made_a_folder, "synonyms.txt: is not a file"),
        ("synonyms.txt", lambda place: place.symlink_to("nothing.txt"), "synonyms.txt: is not a file"),
        ("pages/imprint.md", made_a_folder, "pages/imprint.md: is not a file"),
        ("pages/imprint.md", os.mkfifo, "pages/imprint.md: is not a file"),
        ("templates/list.html", made_a_folder, "templates/list.html: is not a file"),
        ("static/x", os.mkfifo, "static/x: is not a file"),
        ("locale", Path.touch, "locale: is not a folder"),
        ("locale", lambda place: place.symlink_to("nothing"), "locale: is not a folder"),
        ("locale/en/own.po", made_a_folder, "locale/en/own.po: is not a file"),
        ("locale/en/own.po", os.mkfifo, "locale/en/own.po: is not a file"),
    ],
)
def test_what_is_not_a_file_where_one_belongs_stops_the_start_with_one_line(make_app, folder, place, make, why):
    root = folder()
    Path(root, place).parent.mkdir(parents=True, exist_ok=True)
    make(Path(root, place))
    with pytest.raises(SiteError) as caught:
        make_app(SITE_DIR=root)
    assert str(caught.value.code).startswith("SITE_DIR: ")
    assert why in str(caught.value.code)
    assert "\n" not in str(caught.value.code)


@pytest.mark.parametrize("part", ["pages", "templates", "static"])
def test_a_file_in_the_place_of_a_folder_stops_the_start(make_app, tmp_path, part):
    (tmp_path / part).touch()
    with pytest.raises(SiteError, match=f"{part}: is not a folder"):
        make_app(SITE_DIR=tmp_path)


def test_folders_of_a_part_and_hidden_files_are_passed_over(site):
    api = site({"static/a.css/b.md": "B", "pages/.x/y": "", ".front.md": "no", "frontier.md": "no", "pages/._x.md": ""})
    assert api.get("/static/a.css/b.md").text == "B"
    assert "<p>no</p>" not in api.get("/").text


def test_a_link_within_the_folder_is_served(make_app, folder):
    root = folder(**{"static/a.txt": "A"})
    Path(root, "static", "b.txt").symlink_to("a.txt")
    assert Api(make_app(SITE_DIR=root)).get("/static/b.txt").text == "A"


def test_without_pages_the_own_site_is_not_read(make_app, folder):
    api = Api(make_app(WEB_ENABLED="false", SITE_DIR=folder(**{"pages/submit.md": ""}), SITE_ACCENT="#000"))
    assert api.get("/").status_code == 200
