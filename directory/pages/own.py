"""The operator's own pages, templates and files: a folder that is read once, at the start.

An error in it ends the start, with one line. A restart or a reload reads it again.
"""

import re
import textwrap
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, current_app
from jinja2 import ChoiceLoader, FunctionLoader, PrefixLoader, TemplateError, TemplateNotFound, meta, nodes
from markupsafe import Markup

from directory.http import languages, site_dir
from directory.http.access import public
from directory.http.endpoint import operation
from directory.http.exchange import anonymous
from directory.http.files import StoredFile, respond
from directory.http.site_dir import SiteError
from directory.language.choice import Languages
from directory.pages import layout
from directory.pages.build import media_type
from directory.pages.head import Head
from directory.services.text import markdown

PAGES, TEMPLATES, STATIC, FRONT = "pages", "templates", "static", "front"
SUFFIX = ".md"
PAGE = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)(?:\.([A-Za-z0-9-]+))?\.md")  # imprint.md, and imprint.de.md in German
FILES = "/static/<path:name>"
OURS = "default"  # a template may begin with {% extends "default/layout.html" %}
HEADING = re.compile(r"#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*(?:\n|\Z)")
LARGEST_FILE, LARGEST_FOLDER = 8 * 2**20, 32 * 2**20  # bytes
DESCRIPTION_MAX = 160
# Names that Flask gives every template, and Jinja its loops and macros.
ALWAYS = {"config", "request", "session", "g", "get_flashed_messages", "url_for", "loop", "caller", "kwargs", "varargs"}


@dataclass(frozen=True, slots=True)
class OwnPage:
    """A page of the operator, and its translations by the tags of their languages."""

    name: str
    title: str
    html: str
    description: str
    translations: Mapping[str, "OwnPage"] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The address of the page."""
        return f"/{self.name}"

    def in_language(self, tag: str) -> "OwnPage":
        """The page in a language; as it is, without a translation."""
        return self.translations.get(tag, self)


@dataclass(frozen=True, slots=True)
class OwnSite:
    """The content of the folder: pages in the order of their names, templates by name, files by path.

    `fronts` is the HTML for the first page by the tag of its language; that of front.md has an empty one.
    """

    fronts: Mapping[str, str] = field(default_factory=dict)
    pages: tuple[OwnPage, ...] = ()
    templates: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    files: Mapping[str, StoredFile] = field(default_factory=dict)

    def front(self, tag: str) -> str:
        """The HTML for the first page in a language; that of front.md without a translation, else empty."""
        return self.fronts.get(tag) or self.fronts.get("", "")


def read(folder: str, caching: str, site: Languages) -> OwnSite:
    """The content of a folder, its files with that Cache-Control; empty if none is named. Raises SiteError."""
    if not folder:
        return OwnSite()
    root = Path(folder)
    templates = {}
    for path in site_dir.files(root, TEMPLATES, ".html"):
        if path.suffix != ".html":
            raise SiteError(path, "a template is a file *.html")
        templates[path.relative_to(root / TEMPLATES).as_posix()] = (site_dir.text(path), str(path))
    files = {}
    for path in site_dir.files(root, STATIC):
        stored = StoredFile(media_type(path.name), site_dir.content(path, LARGEST_FILE), caching=caching)
        files[path.relative_to(root / STATIC).as_posix()] = stored
    if sum(len(file.content) for file in files.values()) > LARGEST_FOLDER:
        raise SiteError(
            root / STATIC, f"its files are larger than {LARGEST_FOLDER // 2**20} MiB, and memory holds them"
        )
    return OwnSite(_fronts(root, site), _pages(root, site), templates, files)


def _fronts(root: Path, site: Languages) -> dict[str, str]:
    """The HTML for the first page by the tag of its language."""
    files = site_dir.files(root, "", SUFFIX, f"{FRONT}*{SUFFIX}")
    paths = [path for path in files if path.name.split(".")[0] == FRONT]
    return {_language(path, site): markdown.page_html(site_dir.text(path)) for path in paths}


def _pages(root: Path, site: Languages) -> tuple[OwnPage, ...]:
    """The pages, each with its translations."""
    by_name: dict[str, dict[str, OwnPage]] = {}
    for path in site_dir.files(root, PAGES, SUFFIX):
        page = _page(root / PAGES, path)
        by_name.setdefault(page.name, {})[_language(path, site)] = page
    for name, pages in by_name.items():
        if "" not in pages:
            raise SiteError(root / PAGES, f"there is a translation of {name}{SUFFIX}, but not the page itself")
    return tuple(replace(pages.pop(""), translations=pages) for pages in by_name.values())


def _language(path: Path, site: Languages) -> str:
    """The tag in the name of a file, as de in imprint.de.md; empty if it has none. Raises SiteError."""
    tag = path.stem.partition(".")[2]
    if tag and not site.known(tag):
        raise SiteError(path, f"{tag} is not among SITE_LANGUAGES: {', '.join(site.tags)}")
    return site.known(tag)


def _page(home: Path, path: Path) -> OwnPage:
    text, named = site_dir.text(path).lstrip(), PAGE.fullmatch(path.name)
    if path.parent != home or named is None:
        raise SiteError(path, "a page is a file [name].md or [name].[language].md, its name of a-z, 0-9 and hyphens")
    heading = HEADING.match(text)
    if heading is None:
        raise SiteError(path, 'does not begin with its title, as "# Imprint"')
    html = markdown.page_html(text[heading.end() :])
    words = " ".join(Markup(html).striptags().split())  # noqa: S704 (cleaned)
    return OwnPage(named[1], heading[1], html, textwrap.shorten(words, DESCRIPTION_MAX, placeholder=" …"))


def use(app: Flask, site: OwnSite) -> None:
    """Have the templates override ours, and check them. Raises SiteError."""
    ours = app.jinja_loader
    assert ours is not None  # noqa: S101 (the application has a folder of templates)
    known = ALWAYS | set(app.jinja_env.globals)
    for name in app.jinja_env.list_templates() if site.templates else ():
        parsed = app.jinja_env.parse(ours.get_source(app.jinja_env, name)[0])
        # The names that it gets from outside, or gives to a template that it includes.
        known |= meta.find_undeclared_variables(parsed) | {name.name for name in parsed.find_all(nodes.Name)}
    # A template counts as up to date: Jinja asks while templates are developed.
    own = FunctionLoader(lambda name: (*site.templates[name], lambda: True) if name in site.templates else None)
    app.jinja_loader = ChoiceLoader([own, ours, PrefixLoader({OURS: ours})])
    for name, (source, file) in site.templates.items():
        _check(app, name, source, file, known)


def _check(app: Flask, name: str, source: str, file: str, known: set[str]) -> None:
    """Raise SiteError unless Jinja can compile the template, and its names exist."""
    env = app.jinja_env
    try:
        parsed = env.parse(source, name, file)
        env.get_template(name)
        for other in meta.find_referenced_templates(parsed):
            if other is not None:
                env.get_template(other)
    except TemplateNotFound as error:
        raise SiteError(file, f"there is no template {error.message!r}") from None
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise SiteError(f"{file}:{line}" if line else file, error.message) from None
    unknown = sorted(meta.find_undeclared_variables(parsed) - known)
    if unknown:
        raise SiteError(file, f"no page has a value of the name {unknown[0]!r}")


def try_out(app: Flask) -> None:
    """Make a page, so that a template that all pages share fails now and not at the first visit. Raises SiteError."""
    folder = app.config["SITE_DIR"]
    with app.test_request_context("/"):
        anonymous("/")
        try:
            layout.rendered(Head("Not found", path="/"))
        except Exception as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(folder)]
            place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else folder
            raise SiteError(place, error) from None


def routes(app: Flask, site: OwnSite) -> Blueprint:
    """The routes of the operator's pages. Raises SiteError for one that would hide a route of the service."""
    bp = Blueprint(layout.OWN_PAGES, __name__)
    bp.after_request(layout.explain)
    taken = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()}
    for page in site.pages:
        if page.name in taken:
            raise SiteError(
                Path(app.config["SITE_DIR"], PAGES, f"{page.name}.md"), f"{page.path} is an address of the service"
            )
        bp.add_url_rule(page.path, page.name, _view(page))
    return bp


def open_pages(app: Flask, site: OwnSite) -> frozenset[str]:
    """The addresses of the pages that OPEN_PAGES names; a name without a page is passed over."""
    return frozenset(page.path for page in site.pages if page.name in app.config["OPEN_PAGES"])


def _view(page: OwnPage) -> Callable[..., Any]:
    @public
    @operation(tier="read", page=True, etag=True, personal=True, cache=layout.PAGE)
    def own_page() -> layout.PageAnswer:
        """Show a page of the operator."""
        shown, previewed = page.in_language(languages.chosen().tag), page.in_language(languages.of_app().default)
        head = Head(
            shown.title, shown.description or shown.title, page.path,
            preview=(previewed.title, previewed.description or previewed.title),
        )  # fmt: skip
        return layout.show("own_page.html", head, page=shown)

    return own_page


def find_file(app: Flask, name: str) -> StoredFile | None:
    """The file of the operator of that name. Only files that the start has read are there, so no path leads further."""
    site: OwnSite = app.extensions["own_site"]
    return site.files.get(name)


@layout.bp.get(FILES)
@public
@operation(tier=None, page=True)
def static_file(name: str) -> Response:
    """Give a file of the operator."""
    return respond(find_file(current_app, name))
