"""The pipeline of every request: access, rate limit, query, body, the rule in a transaction, the answer.

`operation` wraps a view, and makes the OpenAPI document with `documented`. The decorators of `access`, outside of it,
name the callers that may use it.
"""

import hashlib
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import wraps
from typing import Any

import orjson
from flask import Response, g, request
from marshmallow import Schema
from werkzeug.datastructures import ETags

from directory.db.transactions import transaction
from directory.errors import DirectoryError
from directory.http import access, rate_limits
from directory.http.cache_policy import NO_POLICY, CachePolicy, CacheTags
from directory.http.exchange import READS, Exchange, current
from directory.http.serialization import compiled
from directory.http.validation import NO_BODY, NOTHING, Body, checked_query, read_loosely
from directory.services.accounts.sessions import Credential
from directory.services.votes.voting import Vote

View = Callable[..., Any]
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The parameters, body and answer of a view; as a decorator it wraps the view in the handling of a request.

    `tier` is the rate limit; None for probes, which are not limited. `transactional` is false for views whose rules
    open their own transaction, because they hash a password first or count several callers' votes. `personal` is true
    if a public answer depends on the caller; `cache` is the policy for the response cache. With `many` a server may
    answer several votes together: it takes votes, each with the `action` of its route, and returns an answer or an
    error for each; the view calls it with one vote. The server answers a `constant` route, whose answer never changes,
    without a thread. `when` gets the arguments of the path, and raises the refusal of what a setting has switched off:
    after the caller's access, and before the rate limit, the query and the body. No cached route has one.

    A `page` is for people: it ignores unknown query parameters, is not in the OpenAPI document, and its view returns a
    response or the bytes of its `media_type`. A page with `parameters` gets them as `query`; if they are names, these
    are the ones that its answer depends on, besides the language.
    """

    answer: Schema | None = None
    status: int = 200
    query: Schema = NOTHING
    body: Body = NO_BODY
    tier: str | None = "write"
    etag: bool = False
    transactional: bool = True
    personal: bool = False
    cache: CachePolicy = NO_POLICY
    many: Callable[[list[Vote]], list[dict[str, Any] | Exception]] | None = None
    action: str = ""
    constant: bool = False
    page: bool = False
    parameters: bool | frozenset[str] = False
    media_type: str = HTML
    when: Callable[..., object] | None = None

    def __call__(self, view: View) -> View:
        """Wrap a view."""

        @wraps(view)
        def run(**path: Any) -> Response:
            exchange = current()
            access.check(exchange, path)
            with rate_limits.counted("read" if exchange.is_read and self.tier else self.tier):
                if self.when is not None:
                    self.when(**path)
                arguments = self.input(exchange, path)
            if exchange.is_read or not self.transactional:
                return respond(view(**arguments), self)
            result = transaction(lambda: view(**arguments))
            return respond(result, self)  # no answer is written within its transaction

        run.operation, run.view = self, view  # type: ignore[attr-defined]
        return run

    def input(self, exchange: Exchange, path: dict[str, Any]) -> dict[str, Any]:
        """The view's arguments, from the path, the query and the body. Raises the error of an invalid one."""
        arguments = dict(path)
        if not self.page:
            arguments |= checked_query(self.query, exchange)
        elif self.parameters is not False:
            arguments["query"] = read_loosely(exchange.query.encode("latin-1"))
        return arguments if exchange.is_read else arguments | self.body.arguments()


operation = Operation  # as a decorator


@dataclass(frozen=True, slots=True, kw_only=True)
class Documentation:
    """The description of a view in the OpenAPI document, in addition to its operation; a decorator.

    `raises` are the rule's errors, in addition to those of every route. `headers` are the answer's own headers, and
    `optional_headers` those that it does not always have. `media_types` are for answers that are not JSON.
    """

    raises: tuple[type[DirectoryError], ...] = ()
    headers: tuple[str, ...] = ()
    optional_headers: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ("application/json",)

    def __call__(self, view: View) -> View:
        """Attach it to a view."""
        view.documentation = self  # type: ignore[attr-defined]
        return view


documented = Documentation  # as a decorator


def read(spec: Operation, view: View, exchange: Exchange, path: dict[str, Any]) -> "Rendered":
    """The answer to a read by an anonymous caller. It needs an application context, and no request."""
    g.exchange = exchange
    exchange.identify(None)
    arguments = spec.input(exchange, path)
    result = view(**arguments)
    rendered = render(result, spec)
    if spec.cache.tags is not None:
        shown = result[0] if isinstance(result, tuple) else result
        rendered.cache_tags = spec.cache.tags(shown, arguments.get("query", {}))
    return rendered


def read_many(
    spec: Operation, asked: list[tuple[Credential | None, int]], *, quick: bool
) -> list["tuple[int | None, Rendered | None] | None"]:
    """The readers' ids and the answers to several reads of one object each, as `CachePolicy.load_many` returns them."""
    loaded: Any = [None] * len(asked) if spec.cache.load_many is None else spec.cache.load_many(asked, quick=quick)
    return [found and (found[0], None if found[1] is None else render(found[1], spec)) for found in loaded]


def respond(result: Any, spec: Operation) -> Response:
    """The response for a view's result: data, data with headers, or a response."""
    if isinstance(result, Response):
        return result
    rendered = render(result, spec)
    response = Response(rendered.body, spec.status, rendered.headers, content_type=rendered.media_type)
    if rendered.media_type is None:
        del response.headers["Content-Type"]
    if rendered.etag is not None:
        tag(response, rendered.etag)
    return response


@dataclass(slots=True)
class Rendered:
    """The content of an answer: its body, the headers from its view, its ETag, its media type, and its cache tags."""

    body: bytes
    headers: dict[str, str]
    etag: str | None
    media_type: str | None = "application/json"
    cache_tags: CacheTags | None = None


def render(result: Any, spec: Operation) -> Rendered:
    """The answer for a view's result: data, or data with headers.

    The ETag of a project begins with its version, and If-Match compares only that. So a vote changes the ETag, but does
    not make the owner's edit fail.
    """
    data, headers = result if isinstance(result, tuple) else (result, {})
    if spec.page:
        return Rendered(data, headers, digest(data) if spec.etag else None, spec.media_type)
    if spec.answer is None:
        return Rendered(b"", headers, None, None)
    body = orjson.dumps(compiled(spec.answer)(data))
    if not spec.etag:
        return Rendered(body, headers, None)
    version = data.get("version") if isinstance(data, dict) else None
    return Rendered(body, headers, digest(body) if version is None else f"{version}-{digest(body)}")


def digest(body: bytes) -> str:
    """A digest that identifies a body."""
    return hashlib.sha256(body).hexdigest()[:20]


def tag(response: Response, etag: str | None = None) -> None:
    """Set the ETag of an answer, and make it a 304 if the caller already has it."""
    etag = etag or digest(response.get_data())
    response.set_etag(etag)
    # Not make_conditional, which would answer a read with If-Match by a 412 that has the whole answer as its body.
    if request.method in READS and request.if_none_match.contains_weak(etag):
        response.status_code = 304


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a project that a request allows: those in `wanted` (None: all), except those in `refused`."""

    wanted: set[int] | None
    refused: set[int]

    def __contains__(self, version: object) -> bool:
        return (self.wanted is None or version in self.wanted) and version not in self.refused


def versions_allowed() -> Container[int] | None:
    """The versions of a project that If-Match and If-None-Match allow (RFC 9110 section 13.1); None means all."""
    if "If-None-Match" in request.headers and request.if_none_match.star_tag:
        return ()
    wanted = "If-Match" in request.headers and not request.if_match.star_tag
    versions = Versions(_versions(request.if_match) if wanted else None, _versions(request.if_none_match))
    return versions if wanted or versions.refused else None


def _versions(etags: ETags) -> set[int]:
    """The versions at the beginning of ETags, weak ones too: a proxy that compresses makes ours weak."""
    # Werkzeug reads an empty tag as None.
    heads = (etag.partition("-")[0] for etag in etags.as_set(include_weak=True) if etag)
    return {int(head) for head in heads if head.isascii() and head.isdigit() and len(head) < 19}
