"""The newest live projects as an Atom feed (RFC 4287)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode
from xml.etree.ElementTree import Element, SubElement, tostring

from directory.http import own_values
from directory.language.catalogues import ENGLISH, Catalogue
from directory.language.messages import CATEGORY, _
from directory.services.catalog import feed, own_fields, own_filters, tags
from directory.services.catalog.fields import Kind
from directory.services.catalog.own_fields import OwnField
from directory.services.clock import timestamp
from directory.services.site import Site, path_of
from directory.services.text import markdown

MEDIA_TYPE = "application/atom+xml; charset=utf-8"
PATH = "/api/projects.atom"
NOTHING_YET = "1970-01-01T00:00:00Z"  # a feed must say when it changed; one without entries never has
# Characters that XML 1.0 cannot contain, even escaped. The rules for text refuse them, but older rows may have them.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


PICKED = _("Picked")
FILTERS = ("category", "tag", "published", "picked", "own")


def document(site: Site, query: Mapping[str, Any], language: Catalogue = ENGLISH, *, with_pages: bool = True) -> bytes:
    """The feed, in UTF-8; its links to the site are absolute where the site's address is known.

    `query` has the filters; `language` translates what the operator wrote. Without pages an entry leads to the website
    of its project.
    """
    narrowed = {name: value for name in FILTERS if (value := query.get(name))}
    projects = feed.newest(**narrowed)
    own = own_filters.texts(narrowed.pop("own", ()))
    suffix = f"?{urlencode({**narrowed, **own}, safe=',')}" if narrowed or own else ""
    named = {**narrowed, "picked": language.say(PICKED)} if "picked" in narrowed else narrowed
    of = ", ".join(tags.SEPARATOR.join([*named.values(), *_named(own, language)]).split(tags.SEPARATOR))
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
        SubElement(root, "link", {"rel": "alternate", "type": "text/html", "href": site.address(_page(narrowed, own))})
    descriptions = markdown.several([project["description"] for project in projects])
    for project, html in zip(projects, descriptions, strict=True):
        page = site.address(path_of(project)) if with_pages else ""
        category = project["category"]["slug"], language.text(project["category"]["name"], CATEGORY)
        entry = SubElement(root, "entry")
        _entry(entry, project, page, html, project["author"] or site.name, category, is_pick="picked" in narrowed)
        for field, value in _choices(project):
            about = {"term": value, "label": _possible(own_values.word(field, value, language))}
            SubElement(entry, "category", {**about, "scheme": site.address(f"/api/fields#{field.name}")})
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _named(own: Mapping[str, str], language: Catalogue) -> list[str]:
    """The values that filters by own fields ask for, in words."""
    defined = own_fields.present() if own else own_fields.NONE
    pairs = ((defined.get(name.removeprefix(own_filters.PARAMETER)), text) for name, text in own.items())
    return [
        own_values.word(field, value, language)
        for field, text in pairs
        if field is not None
        for value in (text.split(own_filters.SEPARATOR) if field.kind in own_filters.COUNTED else [text])
    ]


def _choices(project: Mapping[str, Any]) -> Iterator[tuple[OwnField, str]]:
    """The choices that everybody sees of a project, each with its field."""
    for field, values in own_values.each_of(project):
        if field.kind in {Kind.CHOICE, Kind.CHOICES}:
            yield from ((field, value) for value in values)


def _page(narrowed: dict[str, str], own: dict[str, str]) -> str:
    """The page of the same projects; of a period or picks with other filters, of all of these."""
    if [*narrowed, *own] == ["published"]:
        return f"/best/{narrowed['published']}"
    lasting = {name: value for name, value in narrowed.items() if name in {"category", "tag"}}
    of_all = urlencode({**lasting, **own}, safe=",")
    return f"/?{of_all}" if of_all else "/"


def _entry(
    entry: Element, project: dict[str, Any], page: str, html: str, author: str, category: tuple[str, str],
    *, is_pick: bool,
) -> None:  # fmt: skip
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
    _add(entry, "summary", f"{project['picked']['words']}\n{project['tagline']}" if is_pick else project["tagline"])
    if project["description"]:
        _add(entry, "content", html, type="html")


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = _possible(text)


def _possible(text: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", text)
