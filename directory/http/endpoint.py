"""The pipeline of every request: access, rate limit, query, body, the rule in a transaction, the answer.

`operation` wraps a view, and makes the OpenAPI document with `documented`. The decorators of `access`, outside of it,
name the callers that may use it. `Operation.handle` is the only way to run a view.
"""

import hashlib
from collections.abc import Callable, Container
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import orjson
from flask import Response, current_app, request
from marshmallow import Schema
from werkzeug.datastructures import ETags

from directory.db.transactions import transaction
from directory.errors import DirectoryError
from directory.http import access, rate_limits
from directory.http.cache_policy import NO_POLICY, CachePolicy
from directory.http.exchange import READS, Exchange, current
from directory.http.serialization import dump_of
from directory.http.validation import NO_BODY, NOTHING, Body, checked_query, read_loosely

View = Callable[..., Any]
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The parameters, body and answer of a view; as a decorator it wraps the view in the handling of a request.

    Flask and the response cache have it `handle` a request. A batch of requests takes the steps of `handle` for each:
    `access.check`, `prepare`, and, after the rule, `render`.

    `tier` is the rate limit; None for probes, which are not limited. `transactional` is false for views whose rules
    open their own transaction, because they hash a password first or count several callers' votes. `personal` is true
    if a public answer depends on the caller; `cache` is the policy for the response cache. With `many` the view returns
    what is asked, and `many` does that for one request or for several at once: it returns a result or an error for
    each. The server answers a `constant` route, whose answer never changes, without a thread. `when` gets the arguments
    of the path, and raises the refusal of what a setting has switched off: after access and the rate limit, and before
    the query and the body. No cached route has one.

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
    many: Callable[[list[Any]], list[Any]] | None = None
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
            exchange.arguments = path
            return as_response(self.handle(exchange))

        run.operation, run.asked, run.view = self, view, self._alone(view)  # type: ignore[attr-defined]
        return run

    def _alone(self, view: View) -> View:
        """The view; with `many`, a function that does what the view returns, for one request."""
        if (many := self.many) is None:
            return view

        def alone(**arguments: Any) -> Any:
            (outcome,) = many([view(**arguments)])
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        return alone

    def handle(self, exchange: Exchange) -> "Rendered | Response":
        """The answer to a request for the route of this operation. Raises the error of a refusal."""
        access.check(exchange)
        self.prepare(exchange)
        view, arguments = exchange.view.view, exchange.arguments
        if exchange.is_read or not self.transactional:
            return self.render(view(**arguments))
        return self.render(transaction(partial(view, **arguments)))  # no answer is written within its transaction

    def prepare(self, exchange: Exchange) -> None:
        """Count a request (once), refuse what is switched off, and add query and body to the view's arguments."""
        tier = self.tier
        if exchange.is_read and tier is not None:
            tier = "read" if current_app.config["RATELIMIT_READ"] else None
        elif tier == "write" and exchange.path.startswith((*access.CLOSED,)):
            tier = "admin"
        is_guess = tier == "auth"
        if not (tier is None or is_guess or tier in exchange.counted):
            rate_limits.hit(tier)
        with rate_limits.counted_as_guess() if is_guess else nullcontext():
            if self.when is not None:
                self.when(**exchange.arguments)
            if not self.page:
                exchange.arguments |= checked_query(self.query, exchange)
            elif self.parameters is not False:
                exchange.arguments["query"] = read_loosely(exchange.query.encode("latin-1"))
            if not exchange.is_read:
                exchange.arguments |= self.body.arguments(exchange)

    def render(self, result: Any) -> "Rendered | Response":
        """The answer for a view's result: data, data with headers, or a response.

        The ETag of a project begins with its version, and If-Match compares only that. So a vote changes the ETag, but
        does not make the owner's edit fail.
        """
        if isinstance(result, Response):
            return result
        data, headers = result if isinstance(result, tuple) else (result, {})
        if self.page:
            return Rendered(data, self.status, data, headers, digest(data) if self.etag else None, self.media_type)
        if self.answer is None:
            return Rendered(data, self.status, b"", headers, None, None)
        body = orjson.dumps(dump_of(self.answer)(data))
        if not self.etag:
            return Rendered(data, self.status, body, headers, None)
        version = data.get("version") if isinstance(data, dict) else None
        etag = digest(body) if version is None else f"{version}-{digest(body)}"
        return Rendered(data, self.status, body, headers, etag)


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


@dataclass(slots=True)
class Rendered:
    """The answer for the data of a view: its status, body, own headers, ETag and media type."""

    data: Any
    status: int
    body: bytes
    headers: dict[str, str]
    etag: str | None
    media_type: str | None = "application/json"


def as_response(answer: Rendered | Response) -> Response:
    """The answer as Flask's response."""
    if isinstance(answer, Response):
        return answer
    response = Response(answer.body, answer.status, answer.headers, content_type=answer.media_type)
    if answer.media_type is None:
        del response.headers["Content-Type"]
    if answer.etag is not None:
        tag(response, answer.etag)
    return response


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
