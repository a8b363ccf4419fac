"""Addresses that people type and programs ask for: the help, all categories and tags, descriptions for browsers.

`/help` and the other names of our pages are left to the operator's page of that name, if there is one.
"""

from collections.abc import Callable, Collection
from html import escape
from typing import Any

import orjson
from flask import Blueprint, Response, current_app, redirect

from directory.errors import NotFound
from directory.http import feed
from directory.http.access import public
from directory.http.cache_policy import CacheTags
from directory.http.endpoint import operation
from directory.http.languages import of_app
from directory.language.messages import _
from directory.pages.build import media_type
from directory.pages.head import Head, paged
from directory.pages.layout import (
    ADDRESSES,
    PAGE,
    PageAnswer,
    address_with,
    bp,
    explain,
    here,
    page_number,
    page_view,
    show,
    tagged,
)
from directory.pages.translated import by_name
from directory.services.catalog import categories, front, tags

TAGS_PAGE = 1_000
NAME_MAX = 16  # characters of a short name in OpenSearch 1.1
HELP = "help"
ALIASES = {"feed": feed.PATH, "rss": feed.PATH, "login": "/sign-in", "register": "/sign-up", "about": f"/{HELP}"}
OPENSEARCH = """<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>{name}</ShortName>
<Description>{description}</Description>
<InputEncoding>UTF-8</InputEncoding>
<Url type="text/html" template="{search}"/>
</OpenSearchDescription>
"""


@bp.get("/categories")
@public
@operation(tier="read", page=True, etag=True, personal=True, cache=PAGE)
def all_categories() -> PageAnswer:
    """Show all categories with their numbers of live projects, and the newest of these."""
    about, listed = Head(_("Categories"), _("All categories of the directory."), "/categories"), categories.listed()
    newest = front.newest(listed)
    shown = CacheTags(tuple(project["id"] for some in newest.values() for project in some))
    return show("categories.html", about, tags=shown, categories=by_name(listed), newest=newest)


@bp.get("/tags")
@public
@page_view
def all_tags(query: dict[str, str]) -> PageAnswer:
    """Show the tags of live projects by name, with their numbers of live projects."""
    page = page_number(query)
    listed, is_last = tags.by_name(page, TAGS_PAGE)
    if page > 1 and not listed:
        raise NotFound
    about = Head(
        paged(_("Tags"), page), _("All tags of the directory, by name."),
        address_with("/tags", page=page if page > 1 else None),
        previous=address_with("/tags", page=page - 1 if page > 2 else None) if page > 1 else "",
        next="" if is_last else address_with("/tags", page=page + 1),
    )  # fmt: skip
    return show("tags.html", about, listed=listed)


@bp.get("/manifest.webmanifest")
@public
@operation(tier="read", page=True)
def manifest() -> Response:
    """Describe the site for a browser that installs it."""
    site, say = here(), of_app().catalogue().say
    logo = site.logo or "/favicon.svg"
    icons = [{"src": logo, "type": media_type(logo), "sizes": "any"}]
    if not site.logo:
        icons.append({"src": "/apple-touch-icon.png", "type": "image/png", "sizes": "180x180"})
    described = {"name": site.name, "description": say(site.tagline), "start_url": "/", "display": "minimal-ui"}
    return tagged(orjson.dumps({**described, "icons": icons}), "application/manifest+json")


@bp.get("/opensearch.xml")
@public
@operation(tier="read", page=True)
def opensearch() -> Response:
    """Describe the search for a browser that offers it; 404 where the site's address is not known."""
    site, say = here(), of_app().catalogue().say
    if not site.url:
        raise NotFound
    text = OPENSEARCH.format(
        name=escape(site.name[:NAME_MAX].strip()),
        description=escape(say(_("Search {site}", site=site.name))),
        search=escape(site.address("/?q={searchTerms}")),
    )
    return tagged(text.encode(), "application/opensearchdescription+xml")


@bp.get("/.well-known/change-password")
@public
@operation(tier="read", page=True)
def password_page() -> Any:
    """Lead password managers to the page where a member changes the password."""
    return redirect("/account")


def routes(own: Collection[str]) -> Blueprint:
    """The routes of the help and of the other names of pages, without those that are pages of the operator."""
    blueprint = Blueprint(ADDRESSES, __name__)
    blueprint.after_request(explain)
    for name, path in ALIASES.items():
        if name not in own:
            blueprint.add_url_rule(f"/{name}", name, _alias(path))
    if HELP not in own:
        blueprint.add_url_rule(f"/{HELP}", HELP, help_page)
    return blueprint


def _alias(path: str) -> Callable[..., Any]:
    @public
    @operation(tier="read", page=True)
    def alias() -> Any:
        """Lead to the page that has this other name."""
        return redirect(path, 308)

    return alias


@public
@operation(tier="read", page=True, etag=True, personal=True, cache=PAGE)
def help_page() -> PageAnswer:
    """Explain the orders, votes and review, and what to do when something is wrong."""
    config = current_app.config
    about = Head(_("Help"), _("How the lists are ordered, and how votes and review work."), f"/{HELP}")
    return show("help.html", about, review=config["REVIEW_ON_EDIT"], asks=config["REQUIRE_VERIFIED_EMAIL"])
