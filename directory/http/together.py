"""Answers several requests for a batched route together, without a Flask request for each.

The route's `many` does the work for all of them. Those whose callers are not found together, and those that `access`
refuses, are left to the application, without having done anything for them.
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
from directory.errors import DirectoryError
from directory.http import access, authentication, hooks, problem_details, rate_limits
from directory.http.converters import ID
from directory.http.endpoint import Operation
from directory.http.exchange import ROUTE, Exchange, received
from directory.http.wsgi import Answer, behind_proxies
from directory.services import permissions
from directory.services.accounts import sessions
from directory.services.votes.voting import CountAlone

log = logging.getLogger(__name__)
LOOKUP_SECONDS = 0.5  # timeout of the statement that finds the callers of a batch
JSON = ("Content-Type", "application/json")


@dataclass(slots=True, eq=False)
class BatchedRequest:
    """A request for a batched route; its vote is known once its view has made it."""

    exchange: Exchange
    is_use_due: bool = False  # whether the last use of the caller's session or token is to be recorded
    vote: Any = None  # what its view returns

    @property
    def operation(self) -> Operation:
        """The operation of its route."""
        return self.exchange.view.operation  # type: ignore[no-any-return]

    @property
    def many(self) -> Callable[[list[Any]], list[Any]]:
        """The function of its route that counts votes."""
        return self.exchange.view.operation.many  # type: ignore[no-any-return]


class BatchedRoutes:
    """The routes whose requests are answered together: those with an id in their path and a `many`."""

    def __init__(self, app: Flask) -> None:
        self._routes: list[tuple[set[str], re.Pattern[str], str, str, Any]] = []
        for rule in app.url_map.iter_rules():
            view: Any = app.view_functions[rule.endpoint]
            if getattr(getattr(view, "operation", None), "many", None) is not None:
                before, name, after = re.split(r"<id:([^>]*)>", rule.rule)
                path = re.compile(f"{re.escape(before)}({ID.pattern}){re.escape(after)}")
                self._routes.append(((rule.methods or set()) - {"HEAD", "OPTIONS"}, path, name, rule.rule, view))

    def find(self, environ: dict[str, Any], began: float) -> BatchedRequest | None:
        """The request in an environment, if it is for one of the routes and has no query or body; otherwise None."""
        if environ.get("QUERY_STRING") or environ.get("CONTENT_LENGTH", "0") != "0":
            return None
        if "HTTP_TRANSFER_ENCODING" in environ:
            return None
        for methods, path, name, rule, view in self._routes:
            if environ["REQUEST_METHOD"] in methods and (match := path.fullmatch(environ["PATH_INFO"])) is not None:
                environ[ROUTE], exchange = rule, received(environ, began)
                exchange.view, exchange.arguments = view, {name: int(match[1])}
                return BatchedRequest(exchange)
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
        hops = app.config["TRUSTED_PROXIES"]
        nothing: Any = lambda _environ, _start: ()  # noqa: E731
        self._believe = behind_proxies(nothing, hops) if hops else nothing

    def answer(self, requests: list[BatchedRequest]) -> list[Outcome]:
        """The answers, in the order of the requests. An error of a single request is its outcome and not raised."""
        outcomes: dict[BatchedRequest, Any] = dict.fromkeys(requests)
        waited = time.perf_counter() - min(request.exchange.began for request in requests)
        with self._app.app_context():
            with deadline.within(deadline.SECONDS - waited):
                admitted = [request for request in self._identify(requests) if self._is_admitted(request, outcomes)]
                self._prepare([request for request in admitted if outcomes[request] is None], outcomes)
                g.pop("exchange", None)  # what follows is for all of them
                # Requests with the same `many` are answered together, whatever their methods.
                asking = [request for request in admitted if outcomes[request] is None]
                for many in dict.fromkeys(request.many for request in asking):
                    mine = [request for request in asking if request.many is many]
                    outcomes |= zip(mine, self._done(many, [request.vote for request in mine]), strict=True)
                # A vote that was not tried did not record its caller's last use.
                refused = [request for request in admitted if request.is_use_due and _is_refused(outcomes[request])]
                authentication.record_uses([request.exchange.caller for request in refused if request.exchange.caller])
            return [self._finish(request, outcome) for request, outcome in outcomes.items()]

    def _identify(self, requests: list[BatchedRequest]) -> list[BatchedRequest]:
        """Find the callers, by one statement for each kind of credential; return the requests with a caller."""
        credentials = {
            request: authentication.credential_in(request.exchange.environ, self._cookie) for request in requests
        }
        try:
            with deadline.within(LOOKUP_SECONDS):
                prefetched = sessions.prefetch(
                    [*{credential for credential in credentials.values() if credential is not None}]
                )
        except Exception as error:
            log_failure(log, "callers not looked up together", error)
            return []
        for request, credential in credentials.items():
            caller, request.is_use_due = (credential and sessions.caller_of(credential, prefetched)) or (None, False)
            request.exchange.identify(caller and permissions.as_allowed(caller, self._app.config))
        return [request for request in requests if request.exchange.caller]

    def _is_admitted(self, request: BatchedRequest, outcomes: dict[BatchedRequest, Any]) -> bool:
        """Whether the request may have a route; otherwise the application refuses it. Its route may still refuse it."""
        g.exchange = exchange = request.exchange
        self._believe(exchange.environ, lambda *_: len)  # of this middleware only changes of the environment are wanted
        try:
            access.admit(exchange)
        except DirectoryError:
            return False
        try:
            access.check(exchange)
        except DirectoryError as error:
            outcomes[request] = error
        return True

    def _prepare(self, requests: list[BatchedRequest], outcomes: dict[BatchedRequest, Any]) -> None:
        """Count the requests by tier, and have their views say what they ask for; errors are outcomes."""
        for tier in dict.fromkeys(request.operation.tier for request in requests):
            mine = [request for request in requests if request.operation.tier == tier]
            outcomes |= zip(mine, rate_limits.hit_together(tier, [request.exchange for request in mine]), strict=True)
        for request in requests:
            if outcomes[request] is None:
                g.exchange = exchange = request.exchange
                try:
                    request.operation.prepare(exchange)
                    request.vote = exchange.view.asked(**exchange.arguments)
                    if request.is_use_due:
                        request.vote = request.vote._replace(is_use_due=True)
                except Exception as error:
                    outcomes[request] = error

    def _done(self, many: Callable[[list[Any]], list[Any]], votes: list[Any]) -> list[Any]:
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
        waited = time.perf_counter() - request.exchange.began
        with self._app.app_context():
            with deadline.within(deadline.SECONDS - waited):
                try:
                    (outcome,) = request.many([request.vote])
                except Exception as error:
                    outcome = error
            return self._answer(request, outcome)

    def _answer(self, request: BatchedRequest, outcome: dict[str, Any] | Exception) -> Answer:
        """The answer that the application would give, from the data or the error of a view."""
        exchange = request.exchange
        if isinstance(outcome, Exception):
            g.exchange = exchange
            refusal = problem_details.of(outcome)
            status, own, body = refusal.status, refusal.headers.to_wsgi_list(), refusal.get_data()
        else:
            rendered: Any = request.operation.render(outcome)
            status, body = "200 OK", rendered.body
            own = [JSON, ("Content-Length", str(len(body)))]
        answer = Answer(status, hooks.finish(self._app, exchange, int(status[:3]), own), body)
        for observe in self._observers:
            seconds = time.perf_counter() - exchange.began
            observe(exchange.environ, exchange.environ[ROUTE], seconds, status, answer.headers)
        return answer
