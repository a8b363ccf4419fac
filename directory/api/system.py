"""Around the service: health, readiness, metrics, the API's own description, and the feed."""

from typing import Any

import click
from flask import Blueprint, Response, current_app

from directory.api import openapi
from directory.api.schemas.site import FeedQuery, Health, Readiness
from directory.errors import NotFound, Unauthenticated, Unavailable
from directory.http import docs, feed, languages, metrics, readiness
from directory.http.access import is_closed, public
from directory.http.authentication import viewer
from directory.http.endpoint import documented, operation, tag
from directory.http.files import FOREVER
from directory.http.problem_kinds import KINDS
from directory.language.messages import _
from directory.services import build

bp = Blueprint("system", __name__, cli_group=None)

NO_STORE = {"Cache-Control": "no-store"}


@bp.get("/healthz")
@public
@operation(answer=Health(), tier=None, constant=True)
def healthz() -> Any:
    """Say that the process answers.

    It checks nothing else: restart the process if this fails, and only then.
    """
    return {"status": "ok"}, NO_STORE


@bp.get("/readyz")
@public
@operation(answer=Readiness(), tier=None)
def readyz() -> Any:
    """Say whether the service can do its work.

    200 where the database answers and has this version's migrations or a later version's, else 503 with the same
    `checks`. So an upgrade may migrate first and then go from host to host. Redis and the webhooks are reported and
    decide nothing: without the one each process counts rate limits by itself, and the others wait in the outbox.
    """
    ready, checks = readiness.checks()
    told = {} if is_closed() and viewer() is None else {**build.described(), "checks": checks}
    if not ready:
        raise Unavailable(_("The service is not ready."), **told)
    return {"status": "ready", **told}, NO_STORE


@bp.get("/metrics")
@public
@documented(media_types=("text/plain",), raises=(NotFound,))
@operation(tier=None)
def scrape() -> Response:
    """Give metrics to Prometheus, in its text format; 404 unless they are enabled."""
    counted: metrics.Metrics | None = current_app.extensions.get("metrics")
    if counted is None:
        raise NotFound
    return counted.page()


@bp.get("/api/openapi.json")
@public
@operation(tier="read", etag=True)
def describe() -> Response:
    """Describe the API: this document."""
    response = Response(openapi.served(), content_type="application/json")
    tag(response)
    return response


@bp.cli.command("openapi")
def print_document() -> None:
    """Print the API's OpenAPI document, as docs/openapi.json holds it."""
    click.echo(openapi.printed(), nl=False)


@bp.get("/api/docs")
@public
@documented(media_types=("text/html",))
@operation(tier="read", etag=True)
def reference() -> Response:
    """Show this document in Swagger UI, which works offline."""
    return docs.page("docs.html", docs.SWAGGER_POLICY, site=current_app.extensions["site"])


@bp.get("/api/docs/<version>/<name>")
@public
@documented(media_types=docs.MEDIA_TYPES, optional_headers=("Vary",), raises=(NotFound,))
@operation(tier="read")
def asset(version: str, name: str) -> Response:
    """Give a file of the pages, which clients may cache for ever."""
    if name not in docs.ASSETS or version != docs.current_version():
        raise NotFound
    return Response(docs.content(name), mimetype=docs.ASSETS[name], headers={"Cache-Control": FOREVER})


@bp.get("/api/problems")
@public
@documented(media_types=("text/html",))
@operation(tier="read", etag=True)
def problems() -> Response:
    """List the kinds of problem, for people."""
    return docs.page("problems.html", docs.POLICY, kinds=KINDS)


@bp.get("/api/problems/<code>")
@public
@documented(media_types=("text/html",), raises=(NotFound,))
@operation(tier="read", etag=True)
def problem(code: str) -> Response:
    """Explain a kind of problem, for people: the address that every problem's `type` names."""
    if code not in KINDS:
        raise NotFound
    return docs.page("problem.html", docs.POLICY, code=code, kind=KINDS[code])


@bp.get("/api/projects.atom")
@public
@documented(media_types=("application/atom+xml",), raises=(Unauthenticated,))
@operation(query=FeedQuery(), tier="read", etag=True)
def atom(query: dict[str, Any]) -> Response:
    """Follow the 50 newest live projects as an Atom feed: all, or those of a category, of tags or of a period.

    It takes `field.[name]` as the list of projects does.
    With `key` (`POST /api/auth/feed-key`) a feed reader, which cannot sign in, reads it as a member.
    """
    site, has_pages = current_app.extensions["site"], current_app.config["WEB_ENABLED"]
    document = feed.document(site, query, languages.of_app().catalogue(), with_pages=has_pages)
    response = Response(document, content_type=feed.MEDIA_TYPE)
    tag(response)
    return response
