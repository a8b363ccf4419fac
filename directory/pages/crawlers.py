"""Routes for crawlers and programs: robots.txt, security.txt, the sitemap, and the icons."""

from datetime import timedelta
from html import escape
from typing import Any

from flask import Blueprint, Response, current_app, redirect

from directory.errors import NotFound
from directory.http import docs
from directory.http.access import is_closed, public
from directory.http.endpoint import operation
from directory.models import now
from directory.pages.layout import more_lists, tagged
from directory.services.catalog import sitemap
from directory.services.clock import timestamp
from directory.services.site import Site

bp = Blueprint("crawlers", __name__)

SITEMAP, LISTS = "/sitemap.xml", "lists"
SECURITY = "/.well-known/security.txt"
XML = '<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'


@bp.get("/robots.txt")
@public
@operation(tier="read", page=True)
def robots() -> Response:
    """Let crawlers in, and name the sitemap where there is one. Where only members may read, keep them out."""
    if is_closed():
        return tagged("User-agent: *\nDisallow: /\n", "text/plain; charset=utf-8")
    site = _mapped()
    named = "" if site is None else f"\nSitemap: {site.address(SITEMAP)}\n"
    return tagged(f"User-agent: *\nDisallow: /*?*tag=*,\nDisallow: /*?*tag=*%2C\n{named}", "text/plain; charset=utf-8")


@bp.get("/favicon.svg")
@public
@operation(tier="read", page=True)
def favicon() -> Response:
    """Give the site's icon."""
    return tagged(docs.content("favicon.svg"), "image/svg+xml")


@bp.get("/favicon.ico")
@public
@operation(tier="read", page=True)
def favicon_ico() -> Any:
    """Give the icon to programs that ask for it by this name: the operator's logo, or our own."""
    return _icon("favicon.ico", "image/x-icon")


@bp.get("/apple-touch-icon.png")
@public
@operation(tier="read", page=True)
def touch_icon() -> Any:
    """Give the icon for a home screen: the operator's logo, or our own."""
    return _icon("apple-touch-icon.png", "image/png")


def _icon(name: str, media_type: str) -> Any:
    site: Site = current_app.extensions["site"]
    return redirect(site.logo) if site.logo else tagged(docs.content(name), media_type)


@bp.get(SECURITY)
@public
@operation(tier="read", page=True)
def security() -> Response:
    """Say where to report a weakness (RFC 9116); 404 unless SECURITY_CONTACT is set."""
    contact, site = current_app.config["SECURITY_CONTACT"], current_app.extensions["site"]
    if not contact:
        raise NotFound
    canonical = f"Canonical: {site.address(SECURITY)}\n" if site.url else ""
    expires = f"{now() + timedelta(days=365):%Y-%m-%dT00:00:00Z}"
    return tagged(f"Contact: {contact}\nExpires: {expires}\n{canonical}", "text/plain; charset=utf-8")


@bp.get(SITEMAP)
@public
@operation(tier="read", page=True)
def sitemap_index() -> Response:
    """List the parts of the sitemap; 404 where the site has no known address or no pages, or is closed."""
    site = _require_mapped()
    parts: list[int | str] = [*sitemap.parts()]
    parts += [LISTS] if parts else []
    entries = [f"<sitemap><loc>{escape(site.address(f'/sitemap-{part}.xml'))}</loc></sitemap>" for part in parts]
    return _xml("sitemapindex", entries)


@bp.get("/sitemap-<id:number>.xml")
@public
@operation(tier="read", page=True)
def sitemap_part(number: int) -> Response:
    """List the live projects of a part of the sitemap; 404 where it has none."""
    site = _require_mapped()
    projects = sitemap.part(number)
    if not projects:
        raise NotFound
    root = escape(site.address("/p"))
    # Slugs are of a-z, 0-9 and hyphens: nothing in them has to be escaped.
    entries = [
        f"<url><loc>{root}/{project_id}/{slug}</loc><lastmod>{timestamp(updated_at)}</lastmod></url>"
        for project_id, slug, updated_at in projects
    ]
    return _xml("urlset", entries)


@bp.get(f"/sitemap-{LISTS}.xml")
@public
@operation(tier="read", page=True)
def sitemap_lists() -> Response:
    """List the lists, the operator's pages, and those of categories, tags and past periods with a live project."""
    site, (slugs, tags) = _require_mapped(), sitemap.lists()
    # Slugs and tags are of a-z, 0-9 and hyphens.
    own = [*more_lists(), *(page.path for page in current_app.extensions["own_site"].pages)]
    past = [f"/best/{period}" for period in sitemap.past_periods()]
    paths = [
        "/",
        *own,
        *past,
        *(f"/categories/{slug}" for slug in slugs),
        *(f"/tags/{tag}" for tag in tags),
    ]
    return _xml("urlset", [f"<url><loc>{escape(site.address(path))}</loc></url>" for path in paths])


def _mapped() -> Site | None:
    """The site, if it has pages and an address that crawlers can be given, and everybody may read it."""
    site: Site = current_app.extensions["site"]
    return site if site.url and current_app.config["WEB_ENABLED"] and not is_closed() else None


def _require_mapped() -> Site:
    site = _mapped()
    if site is None:
        raise NotFound
    return site


def _xml(root: str, entries: list[str]) -> Response:
    lines = "".join(f"{entry}\n" for entry in entries)
    return tagged(f"{XML.format(root=root)}{lines}</{root}>\n", "application/xml")
