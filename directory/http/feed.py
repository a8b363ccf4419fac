"""The newest live projects as an Atom feed (RFC 4287)."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from xml.etree.ElementTree import Element, SubElement, tostring

from directory.language.catalogues import ENGLISH, Catalogue
from directory.language.messages import CATEGORY, _
from directory.services.catalog import feed, tags
from directory.services.clock import timestamp
from directory.services.site import Site, path_of
from directory.services.text import markdown

MEDIA_TYPE = "application/atom+xml; charset=utf-8"
PATH = "/api/projects.atom"
NOTHING_YET = "1970-01-01T00:00:00Z"  # a feed must say when it changed; one without entries never has
# Characters that XML 1.0 cannot contain, even escaped. The rules for text refuse them, but older rows may have them.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


PICKED = _("Picked")
FILTERS = ("category", "tag", "published", "picked")


def document(
    site: Site, query: Mapping[str, str | None], language: Catalogue = ENGLISH, *, with_pages: bool = True
) -> bytes:
    """The feed, in UTF-8; its links to the site are absolute where the site's address is known.

    `query` has the filters; `language` translates what the operator wrote. Without pages an entry leads to the website
    of its project.
    """
    narrowed = {name: value for name in FILTERS if (value := query.get(name))}
    projects = feed.newest(**narrowed)
    suffix = f"?{urlencode(narrowed, safe=',')}" if narrowed else ""
    named = {**narrowed, "picked": language.say(PICKED)} if "picked" in narrowed else narrowed
    of = ", ".join(tags.SEPARATOR.join(named.values()).split(tags.SEPARATOR))
    changes = [project["updated_at"] for project in projects]
    if "picked" in narrowed:
        changes += [project["picked"]["at"] for project in projects]
    root = Element("feed", {"xmlns": "http://www.w3.org/2005/Atom", "xml:lang": language.tag})
    _add(root, "id", feed.name(suffix).urn)
    _add(root, "title", f"{site.name}: {of}" if of else site.name)
    if site.tagline:
        _add(root, "subtitle", language.say(site.tagline))
    if site.logo and site.url:
        _add(root, "logo", site.address(site.logo))
    _add(root, "updated", timestamp(max(changes)) if changes else NOTHING_YET)
    SubElement(root, "link", {"rel": "self", "type": "application/atom+xml", "href": site.address(f"{PATH}{suffix}")})
    if site.url:
        SubElement(root, "link", {"rel": "alternate", "type": "text/html", "href": site.address(_page(narrowed))})
    descriptions = markdown.several([project["description"] for project in projects])
    for project, html in zip(projects, descriptions, strict=True):
        page = site.address(path_of(project)) if with_pages else ""
        category = project["category"]["slug"], language.text(project["category"]["name"], CATEGORY)
        _entry(SubElement(root, "entry"), project, page, html, project["author"] or site.name, category)
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _page(narrowed: dict[str, str]) -> str:
    """The page of the same projects; of a period or picks in a category or with tags, of all of these."""
    if [*narrowed] == ["published"]:
        return f"/best/{narrowed['published']}"
    of_all = urlencode({name: value for name, value in narrowed.items() if name in {"category", "tag"}}, safe=",")
    return f"/?{of_all}" if of_all else "/"


def _entry(
    entry: Element, project: dict[str, Any], page: str, html: str, author: str, category: tuple[str, str]
) -> None:
    _add(entry, "id", feed.name_of(project).urn)
    _add(entry, "title", project["title"])
    _add(entry, "updated", timestamp(project["updated_at"]))
    _add(entry, "published", timestamp(project["published_at"]))
    _add(SubElement(entry, "author"), "name", author)
    website = _possible(project["url"])
    SubElement(entry, "link", {"rel": "alternate", "href": page or website})
    if page:
        SubElement(entry, "link", {"rel": "related", "href": website})
    slug, label = category
    SubElement(entry, "category", {"term": slug, "label": _possible(label)})
    _add(entry, "summary", project["tagline"])
    if project["description"]:
        _add(entry, "content", html, type="html")


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = _possible(text)


def _possible(text: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", text)
