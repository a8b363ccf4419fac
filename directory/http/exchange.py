"""One request: what it asks, and what is found out about it until its answer is sent.

An exchange is made of the WSGI environment when the request arrives, and `current` returns it wherever the request is
handled. A read that the cache has made for any anonymous caller has an exchange too, without an environment.
"""

import os
import re
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flask import g, request
from limits import RateLimitItem

from directory.services.identity import Caller
from directory.services.permissions import Action

EXCHANGE, ROUTE = "directory.exchange", "directory.route"  # keys of a WSGI environment
READS = {"GET", "HEAD", "OPTIONS", "TRACE"}
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class LimitState(NamedTuple):
    """The state of one limit of a tier after this request; `wait` is the seconds until another hit is allowed."""

    item: RateLimitItem
    remaining: int
    wait: int


@dataclass(slots=True, eq=False)
class Exchange:
    """A request. `began` is a time of time.perf_counter().

    `caller` is None for an anonymous caller, and as long as nobody has asked who it is; `person` is a caller who may do
    what members do, once that is asked. `limits` are the states of the limits that the answer shows, by tier, and
    `counted` the tiers that the request was counted against. `privilege` is what the caller of a write has to be
    allowed at its commit too; None if a member may do it. `is_constant` says that all callers get the same answer.
    `arguments` are the view's: those of the path, and the query and the body once they are checked. `language` is the
    tag of the answer's language, empty until it is chosen.
    """

    method: str
    path: str
    query: str
    id: str
    began: float = 0.0
    environ: dict[str, Any] = field(default_factory=dict)
    is_read: bool = True
    view: Any = None  # of the route; None for a path without one
    arguments: dict[str, Any] = field(default_factory=dict)

    caller: Caller | None = None
    person: Caller | None = None
    is_identified: bool = False
    privilege: Action | None = None
    is_constant: bool = False
    language: str = ""

    limits: dict[str, list[LimitState]] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    login: str = ""  # whose password was tried, and the account that has it
    account_id: int | None = None
    seconds_to_turn: float = 0.0

    parameters: dict[str, str] = field(default_factory=dict)
    listed: str = ""  # the list that a cursor belongs to
    typed: dict[str, str] | None = None  # the fields of a form; None as long as it is not read
    aside: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)

    def identify(self, caller: Caller | None) -> None:
        """Note who the caller is; None for an anonymous one."""
        self.caller, self.person, self.is_identified = caller, None, True


def received(environ: dict[str, Any], began: float | None = None) -> Exchange:
    """The exchange of a request that has just come, or at `began`; its id is in the environment too."""
    environ["HTTP_X_REQUEST_ID"] = identity = request_id(environ.get("HTTP_X_REQUEST_ID", ""))
    method, path = environ["REQUEST_METHOD"].upper(), environ["PATH_INFO"].encode("latin-1").decode(errors="replace")
    began = time.perf_counter() if began is None else began
    query = environ.get("QUERY_STRING", "")
    return Exchange(method, f"/{path.lstrip('/')}", query, identity, began, environ, method in READS)


def anonymous(path: str, query: str = "", identity: str = "", **facts: Any) -> Exchange:
    """The exchange of a read by an anonymous caller, which is current from now on. It needs no request."""
    g.exchange = exchange = Exchange("GET", path, query, identity, is_identified=True, **facts)
    return exchange


def request_id(header: str) -> str:
    """The caller's id for the request if it is valid, otherwise a new one."""
    return header if header and REQUEST_ID.fullmatch(header) else os.urandom(16).hex()


def current() -> Exchange:
    """The exchange that is handled now."""
    exchange: Exchange | None = g.get("exchange")
    if exchange is None:
        exchange = g.exchange = request.environ[EXCHANGE]
    return exchange
