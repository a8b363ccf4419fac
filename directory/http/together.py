"""Answers several requests for a batched route together, without a Flask request for each.

The route's `many` does the work for all of them. This module leaves some requests to the application, without having
done anything for them: those of anonymous callers, of other sites' pages, and those meant for another account.
"""

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from flask import Flask, g

from directory.db import deadline
from directory.db.errors import log_failure
from directory.errors import RateLimited
from directory.http import authentication, endpoint, headers, hooks, metrics, rate_limits, write_checks
from directory.http.converters import ID
from directory.http.wsgi import Answer, behind_proxies, read_body
from directory.services.accounts import sessions
from directory.services.votes.voting import CountAlone, Vote

log = logging.getLogger(__name__)
LOOKUP_SECONDS = 0.5  # timeout of the statement that finds the callers of a batch
JSON = ("Content-Type", "application/json")


@dataclass(slots=True, eq=False)
class BatchedRequest:
    """A request for a batched route: its environment, route, object id, and time of arrival.

    `began` is a time of time.perf_counter().
    """

    environ: dict[str, Any]
    view: Any
    rule: str
    id: int
    began: float
    caller: Any = None  # a Caller, once it is identified
    is_use_due: bool = False  # whether the last use of the caller's session or token is to be recorded
    limit_states: dict[str, list[rate_limits.LimitState]] = field(default_factory=dict)

    @property
    def vote(self) -> Vote:
        """The vote of the request by its identified caller."""
        return Vote(self.caller, self.id, self.view.operation.action, self.is_use_due)


class BatchedRoutes:
    """The routes whose requests are answered together: those with an id in their path and a `many`."""

    def __init__(self, app: Flask) -> None:
        self._routes: list[tuple[set[str], re.Pattern[str], str, Any]] = []
        for rule in app.url_map.iter_rules():
            view: Any = app.view_functions[rule.endpoint]
            if getattr(getattr(view, "operation", None), "many", None) is not None:
                path = f"({ID.pattern})".join(map(re.escape, re.split(r"<id:[^>]*>", rule.rule)))
                methods = (rule.methods or set()) - {"HEAD", "OPTIONS"}
                self._routes.append((methods, re.compile(path), rule.rule, view))

    def find(self, environ: dict[str, Any], began: float) -> BatchedRequest | None:
        """The request in an environment, if it is for one of the routes and has no query or body; otherwise None."""
        if environ.get("QUERY_STRING") or environ.get("CONTENT_LENGTH", "0") != "0":
            return None
        if "HTTP_TRANSFER_ENCODING" in environ:
            return None
        for methods, path, rule, view in self._routes:
            if environ["REQUEST_METHOD"] in methods and (found := path.fullmatch(environ["PATH_INFO"])) is not None:
                return BatchedRequest(environ, view, rule, int(found[1]), began)
        return None


# An answer; or a function that returns it, to be called in a thread so that it delays no other request; or None if
# nothing was done and the application has to answer.
Outcome = Answer | Callable[[], Answer] | None


def _is_refused(outcome: Any) -> bool:
    return isinstance(outcome, Exception) and not isinstance(outcome, CountAlone)


class Together:
    """Answers requests for the batched routes of an application."""

    def __init__(self, app: Flask) -> None:
        self._app, self.routes = app, BatchedRoutes(app)
        self._cookie: str = app.config["COOKIE_NAME"]
        self._metrics: metrics.Metrics | None = app.extensions.get("metrics")
        self._tracing: Any = app.extensions.get("tracing")
        self._trusts_origins = bool(app.config["CORS_ORIGINS"])
        self._headers = headers.of_app(app)
        hops = app.config["TRUSTED_PROXIES"]
        nothing: Any = lambda _environ, _start: ()  # noqa: E731
        self._believe = behind_proxies(nothing, hops) if hops else nothing

    def answer(self, requests: list[BatchedRequest]) -> list[Outcome]:
        """The answers, in the order of the requests. An error of a single request is its outcome and not raised."""
        outcomes: dict[BatchedRequest, Any] = dict.fromkeys(requests)
        waited = time.perf_counter() - min(each.began for each in requests)
        with self._app.app_context(), deadline.for_request(waited):
            counted = self._count(self._identify([each for each in requests if self._is_simple(each)]), outcomes)
            # Requests with the same `many` are answered together, whatever their methods.
            for many in dict.fromkeys(each.view.operation.many for each in counted):
                mine = [each for each in counted if each.view.operation.many is many]
                outcomes |= zip(mine, self._done(many, [each.vote for each in mine]), strict=True)
            # A vote that was not tried did not record its caller's last use.
            authentication.record_uses(
                [each.caller for each in outcomes if each.is_use_due and _is_refused(outcomes[each])]
            )
        return [self._finish(each, outcome) for each, outcome in outcomes.items()]

    def _is_simple(self, request: BatchedRequest) -> bool:
        environ = request.environ
        self._believe(environ, lambda *_: len)  # a middleware, of which only the changes of the environment are wanted
        environ["HTTP_X_REQUEST_ID"] = hooks.request_id(environ.get("HTTP_X_REQUEST_ID", ""))
        if self._app.config["READ_ONLY"] or (self._trusts_origins and "HTTP_ORIGIN" in environ):
            return False
        return not write_checks.is_cross_site(environ)

    def _identify(self, requests: list[BatchedRequest]) -> list[BatchedRequest]:
        """Find the callers, by one statement for each kind of credential; return the requests with a caller."""
        credentials = {each: authentication.credential_in(each.environ, self._cookie) for each in requests}
        try:
            with deadline.within(LOOKUP_SECONDS):
                prefetched = sessions.prefetch(
                    [*{credential for credential in credentials.values() if credential is not None}]
                )
        except Exception as error:
            log_failure(log, "callers not looked up together", error)
            return []
        for each, credential in credentials.items():
            caller, each.is_use_due = (credential and sessions.caller_of(credential, prefetched)) or (None, False)
            each.caller = caller and authentication.as_allowed(caller)
        return [
            each for each in requests if each.caller and not write_checks.is_for_other_user(each.environ, each.caller)
        ]

    def _count(self, requests: list[BatchedRequest], outcomes: dict[BatchedRequest, Any]) -> list[BatchedRequest]:
        """Count each request against its tier, and return those that the limits admit."""
        for tier in dict.fromkeys(each.view.operation.tier for each in requests):
            mine = [each for each in requests if each.view.operation.tier == tier]
            counts = rate_limits.count_all(tier, [rate_limits.key_of(each.caller) for each in mine])
            for each, count in zip(mine, counts, strict=True):
                each.limit_states = {tier: count.states} if count.states else {}
                if not count.is_admitted:
                    outcomes[each] = RateLimited(rate_limits.wait_of(each.limit_states), tier)
        return [each for each in requests if outcomes[each] is None]

    def _done(self, many: Callable[[list[Vote]], list[Any]], votes: list[Vote]) -> list[Any]:
        try:
            return many(votes)
        except Exception as error:  # before anything was done
            log_failure(log, "not done together", error)
            return [CountAlone()] * len(votes)

    def _finish(self, request: BatchedRequest, outcome: Any) -> Outcome:
        if isinstance(outcome, CountAlone):
            return partial(self._answer_alone, request)
        if isinstance(outcome, Exception):
            return self._traced(request, self._refusal(request, outcome))
        return None if outcome is None else self._traced(request, self._success(request, outcome))

    def _answer_alone(self, request: BatchedRequest) -> Answer:
        """Answer one request alone, in its remaining time, after its batch failed."""
        with self._app.app_context(), deadline.for_request(time.perf_counter() - request.began):
            try:
                (outcome,) = request.view.operation.many([request.vote])
            except Exception as error:
                outcome = error
        answer: Any = self._finish(request, outcome)
        return answer  # type: ignore[no-any-return]

    def _success(self, request: BatchedRequest, data: dict[str, Any]) -> Answer:
        """The response that Flask and our hooks would make from the data."""
        environ = request.environ
        body, identity = endpoint.render(data, request.view.operation).body, environ["HTTP_X_REQUEST_ID"]
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        whole = self._headers.complete(
            [JSON, ("Content-Length", str(len(body)))], 200,
            headers.Facts(
                method, path, environ["wsgi.url_scheme"], identity, is_signed_in=True,
                limits=rate_limits.header_lines(request.limit_states),
            ),
        )  # fmt: skip
        hooks.log_request(method, path, 200, request.began, request_id=identity, user_id=request.caller.id)
        if self._metrics is not None:
            self._metrics.observe(method, request.rule, 200, time.perf_counter() - request.began)
            self._metrics.count_vote(data)
        return Answer("200 OK", whole, body)

    def _refusal(self, request: BatchedRequest, error: Exception) -> Answer:
        """The response that the application makes from an error."""
        started: list[Any] = []
        request.environ[hooks.BEGAN] = request.began

        def prepare() -> None:
            g._login_user, g.limit_states = request.caller, request.limit_states

        def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
            started[:] = status, headers

        body = read_body(hooks.answer_error(self._app, error, request.environ, start, prepare))
        status, whole = started
        return Answer(status, whole, body)

    def _traced(self, request: BatchedRequest, answer: Answer) -> Answer:
        if self._tracing is not None:
            seconds = time.perf_counter() - request.began
            self._tracing.note(request.environ, request.rule, seconds, answer.status, answer.headers)
        return answer
