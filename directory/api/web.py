"""The pages of the site. Each is the same HTML, which JavaScript fills over the API; only the head differs.

They are for people: they pass over unknown query parameters and are not in the OpenAPI document.
"""

from dataclasses import dataclass
from html import escape
from typing import Any

from flask import Blueprint, Response, current_app, render_template, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

from directory.api import docs
from directory.api.web_build import Build
from directory.errors import NotFound
from directory.http import problem_details
from directory.http.access import public
from directory.http.cache_tags import CacheTags
from directory.http.endpoint import operation
from directory.services.catalog import catalog
from directory.services.site import Site

bp = Blueprint("web", __name__)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
KINDS = (problem_details.MEDIA_TYPE, "text/html")  # at an address without a route; the first where both are welcome
DESCRIPTION = "Projects that members submitted and voted for: browse, search, vote, and submit your own."
SESSION = "/api/session"
PRELOAD = '<link rel="preload" href="{}" as="fetch" crossorigin>'
Page = tuple[bytes, dict[str, str]]


class PageNotFound(NotFound):
    """There is no such page: answered with a page that says so."""


def without_votes(_page: bytes, _query: dict[str, Any]) -> CacheTags:
    """The cache tags of a page: its HTML shows no votes."""
    return CacheTags(())


@dataclass(frozen=True, slots=True)
class Head:
    """What the head of a page says.

    `path` is the page's canonical address, for search engines and previews of links; "" where it has none. `indexed`
    says whether search engines may list the page. `reads` are paths of the API that the page's code always reads: the
    browser reads them while the code is on its way.
    """

    title: str = ""
    description: str = DESCRIPTION
    path: str = ""
    indexed: bool = True
    reads: tuple[str, ...] = ()


def show(entry: str, head: Head) -> Page:
    """A page, and its policy. Where the pages are not built it says how to build them."""
    site: Site = current_app.extensions["site"]
    build: Build = current_app.extensions["web_build"]
    html = build.page(entry, _lines(site, head))
    if html is None:
        return unbuilt()
    return html, {"Content-Security-Policy": POLICY}


def unbuilt() -> Page:
    """The short page that stands where the pages are not built or not wanted."""
    facts = {"name": current_app.config["SITE_NAME"], "wanted": current_app.config["WEB_ENABLED"]}
    html = render_template("home.html", assets=f"/api/docs/{docs.current_version()}", **facts)
    return html.encode(), {"Content-Security-Policy": docs.POLICY}


def _lines(site: Site, head: Head) -> str:
    """The head as HTML."""
    shown = f"{head.title} · {site.name}" if head.title else site.name
    lines = [f"<title>{escape(shown)}</title>"]
    names = {"application-name": site.name, "description": head.description}
    if not head.indexed:
        names["robots"] = "noindex"
    lines += [f'<meta name="{name}" content="{escape(value)}">' for name, value in names.items()]
    if head.path:
        lines += _preview(site, head)
    # With the credentials of a call by the page's code, or the browser would read it twice.
    return "\n".join([*lines, *(PRELOAD.format(escape(path)) for path in (SESSION, *head.reads))])


def _preview(site: Site, head: Head) -> list[str]:
    """What previews of links show, and the address, which has to be absolute for those that read it."""
    facts = {"type": "website", "site_name": site.name, "title": head.title or site.name}
    facts |= {"description": head.description} | ({"url": site.address(head.path)} if site.url else {})
    lines = [f'<meta property="og:{name}" content="{escape(value)}">' for name, value in facts.items()]
    return lines + ([f'<link rel="canonical" href="{escape(facts["url"])}">'] if site.url else [])


@bp.get("/p/<id:project_id>/<title>")
@public
@operation(tier="read", page=True, etag=True, cache_tags=without_votes)
def project(project_id: int, title: str) -> Page:
    """Show a live project. Any other is a 404 with the page, which shows it to those who may see it."""
    found = catalog.public([project_id])[0]
    if found is None:
        raise PageNotFound
    path = f"/p/{project_id}/{found['slug']}"
    if title != found["slug"]:
        raise RequestRedirect(path)
    return show("project", Head(found["title"], found["tagline"], path, reads=(f"/api/projects/{project_id}",)))


@bp.get("/submit")
@public
@operation(tier=None, page=True, etag=True, cache_tags=without_votes)
def submit_page() -> Page:
    """Show the form for a submission."""
    return show("members", Head("Submit a project", path="/submit"))


@bp.get("/mine")
@bp.get("/account")
@bp.get("/reset")
@bp.get("/verify")
@public
@operation(tier=None, page=True, etag=True, cache_tags=without_votes)
def account_page() -> Page:
    """Show a page of an account. It is the same for everybody: the API decides what they see on it."""
    return show("members", Head(indexed=False))


@bp.get("/users/<username>")
@public
@operation(tier=None, page=True, etag=True, cache_tags=without_votes)
def user_page(username: str) -> Page:
    """Show a member's projects."""
    return show("index", Head(username, f"Projects that {username} submitted."))


@bp.get("/admin")
@bp.get("/admin/queue")
@bp.get("/admin/queue/<id:project_id>")
@bp.get("/admin/projects")
@bp.get("/admin/users")
@bp.get("/admin/users/<id:user_id>")
@bp.get("/admin/categories")
@bp.get("/admin/deliveries")
@bp.get("/admin/audit")
@public
@operation(tier=None, page=True, etag=True, cache_tags=without_votes)
def console_page(**_path: int) -> Page:
    """Show a page of the console. It is the same for everybody: the API decides who sees anything on it."""
    return show("console", Head(indexed=False))


@bp.get("/assets/<name>")
@public
@operation(tier=None, page=True)
def asset(name: str) -> Response:
    """Give a file of the pages. Its name changes with its content, so it may be stored for ever."""
    build: Build = current_app.extensions["web_build"]
    found = build.assets.get(name)
    if found is None:
        raise NotFound
    is_compressed = request.accept_encodings["gzip"] > 0
    response = Response(found.compressed if is_compressed else found.content, content_type=found.media_type)
    response.headers["Cache-Control"] = docs.FOREVER
    response.vary.add("Accept-Encoding")
    if is_compressed:
        response.headers["Content-Encoding"] = "gzip"
    return response


@bp.app_errorhandler(404)
def no_route(_error: HTTPException) -> Response:
    """Answer 404 at an address without a route: people get the page, and programs the problem, as everywhere."""
    if request.path.startswith("/api/"):
        return problem_details.answer(NotFound())
    wants_page = request.accept_mimetypes.best_match(KINDS) == "text/html"
    response = _not_found("index") if wants_page else problem_details.answer(NotFound())
    response.vary.add("Accept")
    return response


@bp.app_errorhandler(PageNotFound)
def page_not_found(_error: PageNotFound) -> Response:
    """Answer 404 with the page, which looks for itself whether there is something that the caller may see."""
    return _not_found("project")


def _not_found(entry: str) -> Response:
    html, headers = show(entry, Head(indexed=False))
    return Response(html, 404, headers, content_type="text/html; charset=utf-8")
