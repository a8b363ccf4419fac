"""Answers several requests for a batched route together, without a Flask request for each.

The route's `many` does the work for all of them. This module leaves some requests to the application, without having
done anything for them: those of anonymous callers, of other sites' pages, and those meant for another account.
"""

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Flask, g

from directory.db import deadline
from directory.db.errors import log_failure
from directory.errors import RateLimited
from directory.http import authentication, endpoint, hooks, problem_details, rate_limits, write_checks
from directory.http.converters import ID
from directory.http.exchange import ROUTE, Exchange, received
from directory.http.wsgi import Answer, behind_proxies
from directory.services.accounts import sessions
from directory.services.votes.voting import CountAlone, Vote

log = logging.getLogger(__name__)
LOOKUP_SECONDS = 0.5  # timeout of the statement that finds the callers of a batch
JSON = ("Content-Type", "application/json")


@dataclass(slots=True, eq=False)
class BatchedRequest:
    """A request for a batched route: its exchange, view and object id."""

    exchange: Exchange
    view: Any
    id: int
    is_use_due: bool = False  # whether the last use of the caller's session or token is to be recorded

    @property
    def vote(self) -> Vote:
        """The vote of the request by its identified caller."""
        by: Any = self.exchange.caller
        return Vote(by, self.id, self.view.operation.action, self.is_use_due)


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
                environ[ROUTE] = rule
                return BatchedRequest(received(environ, began), view, int(found[1]))
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
        # Functions that see each answer, for no middleware does.
        self._observers: list[Callable[..., None]] = app.extensions.get("observers", [])
        self._trusts_origins = bool(app.config["CORS_ORIGINS"])
        hops = app.config["TRUSTED_PROXIES"]
        nothing: Any = lambda _environ, _start: ()  # noqa: E731
        self._believe = behind_proxies(nothing, hops) if hops else nothing

    def answer(self, requests: list[BatchedRequest]) -> list[Outcome]:
        """The answers, in the order of the requests. An error of a single request is its outcome and not raised."""
        outcomes: dict[BatchedRequest, Any] = dict.fromkeys(requests)
        waited = time.perf_counter() - min(each.exchange.began for each in requests)
        with self._app.app_context(), deadline.for_request(waited):
            counted = self._count(self._identify([each for each in requests if self._is_simple(each)]), outcomes)
            # Requests with the same `many` are answered together, whatever their methods.
            for many in dict.fromkeys(each.view.operation.many for each in counted):
                mine = [each for each in counted if each.view.operation.many is many]
                outcomes |= zip(mine, self._done(many, [each.vote for each in mine]), strict=True)
            # A vote that was not tried did not record its caller's last use.
            authentication.record_uses(
                [each.vote.by for each in outcomes if each.is_use_due and _is_refused(outcomes[each])]
            )
        return [self._finish(each, outcome) for each, outcome in outcomes.items()]

    def _is_simple(self, request: BatchedRequest) -> bool:
        environ = request.exchange.environ
        self._believe(environ, lambda *_: len)  # a middleware, of which only the changes of the environment are wanted
        if self._app.config["READ_ONLY"] or (self._trusts_origins and "HTTP_ORIGIN" in environ):
            return False
        return not write_checks.is_cross_site(environ)

    def _identify(self, requests: list[BatchedRequest]) -> list[BatchedRequest]:
        """Find the callers, by one statement for each kind of credential; return the requests with a caller."""
        credentials = {each: authentication.credential_in(each.exchange.environ, self._cookie) for each in requests}
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
            each.exchange.caller = caller and authentication.as_allowed(caller)
        return [each for each in requests if each.exchange.caller and not write_checks.is_for_other_user(each.exchange)]

    def _count(self, requests: list[BatchedRequest], outcomes: dict[BatchedRequest, Any]) -> list[BatchedRequest]:
        """Count each request against its tier, and return those that the limits admit."""
        for tier in dict.fromkeys(each.view.operation.tier for each in requests):
            mine = [each for each in requests if each.view.operation.tier == tier]
            counts = rate_limits.count_all(tier, [rate_limits.key_of(each.exchange.caller) for each in mine])
            for each, count in zip(mine, counts, strict=True):
                each.exchange.limits = {tier: count.states} if count.states else {}
                if not count.is_admitted:
                    outcomes[each] = RateLimited(rate_limits.wait_of(each.exchange.limits), tier)
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
        return None if outcome is None else self._answer(request, outcome)

    def _answer_alone(self, request: BatchedRequest) -> Answer:
        """Answer one request alone, in its remaining time, after its batch failed."""
        with self._app.app_context(), deadline.for_request(time.perf_counter() - request.exchange.began):
            try:
                (outcome,) = request.view.operation.many([request.vote])
            except Exception as error:
                outcome = error
        return self._answer(request, outcome)

    def _answer(self, request: BatchedRequest, outcome: dict[str, Any] | Exception) -> Answer:
        """The answer that the application would give, from the data or the error of a view."""
        exchange = request.exchange
        if isinstance(outcome, Exception):
            with self._app.app_context():
                g.exchange = exchange
                refusal = problem_details.of(outcome)
            status, own, body = refusal.status, refusal.headers.to_wsgi_list(), refusal.get_data()
        else:
            status, body = "200 OK", endpoint.render(outcome, request.view.operation).body
            own = [JSON, ("Content-Length", str(len(body)))]
        answer = Answer(status, hooks.finish(self._app, exchange, int(status[:3]), own), body)
        for observe in self._observers:
            seconds = time.perf_counter() - exchange.began
            observe(exchange.environ, exchange.environ[ROUTE], seconds, status, answer.headers)
        return answer
