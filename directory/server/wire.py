"""Answers as they go over the wire, for a server that reads requests itself (`directory/express.py`)."""

import logging
import math
import re
import time
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from flask import Flask

from directory.cache.middleware import Lane
from directory.cache.response import STATUSES, Answer, joined
from directory.cache.validator import SLOW
from directory.db import deadline
from directory.http import authentication, hooks
from directory.server.request_reader import Bare, Plain, recognise
from directory.services.accounts import sessions

log = logging.getLogger(__name__)
STALE = 1.0  # seconds after which it is asked again who asks: a request may wait for a thread
VOTE = re.compile(r"/api/projects/[0-9]+/upvote")  # the paths whose requests are served several at once
# A database takes less than NEAR seconds for the quickest of SOME looks, or its network takes more than the processor
# does; and who waits for one answer before he asks for his own waits longer for the network.
NEAR, SOME = 0.002, 50
BODILESS = ("204", "304")  # the statuses whose answers end with their head, RFC 9112 section 6.3


class Sent(NamedTuple):
    """The status, the lines of the headers and the body of an answer."""

    status: bytes
    lines: bytes
    body: bytes


class Quickest:
    """The quickest of the last `some` answers: what one takes where nothing else is in its way."""

    def __init__(self, some: int) -> None:
        self.seconds, self._some = 0.0, some
        self._next, self._answers = math.inf, 0

    def take(self, seconds: float) -> None:
        """Take in how long another answer took."""
        self._next, self._answers = min(self._next, seconds), self._answers + 1
        if self._answers == self._some:
            self.seconds, self._next, self._answers = self._next, math.inf, 0


class Wire:
    """The lane, and the application, asked in bytes. What they answer is what their WSGI says, which a test holds."""

    def __init__(self, app: Flask, lane: Lane) -> None:
        self._app, self._lane, self._hops = app, lane, app.config["TRUSTED_PROXIES"]
        self._distance = Quickest(SOME)

    def asked(self, head: bytes) -> Plain | Bare | None:
        """The plain or bare request of which this is the head; None where it is, or may be, anything else."""
        return recognise(head, self._hops, hooks.request_id)

    def is_quick(self, plain: Plain) -> bool:
        """Whether it may be answered at once."""
        return self._lane.is_quick(plain)

    def gathers(self, bare: Bare) -> bool:
        """Whether it is of those that are served several at once, by one thread: a vote."""
        return VOTE.fullmatch(bare.environ["PATH_INFO"]) is not None

    @property
    def is_near(self) -> bool:
        """Whether the database is so near that who waits for another's answer and then for his own waits no longer."""
        return self._distance.seconds < NEAR

    def look_ahead(self, bares: list[Bare]) -> bool:
        """Look up who asks, all by one look; whether that was told. If not, the application will look for itself."""
        cookie_name = self._app.config["COOKIE_NAME"]
        try:
            proofs = [each for bare in bares if (each := authentication.proof(bare.environ, cookie_name)) is not None]
            with self._app.app_context(), self._lane.guard.at_hand() as there:
                if not (there and proofs):
                    return False
                began = time.perf_counter()
                known = sessions.look_up(proofs)
                self._distance.take(time.perf_counter() - began)
        except Exception as error:
            log.info("not looked up ahead", extra={"reason": type(error).__name__})
            return False
        for bare in bares:
            bare.environ[authentication.KNOWN] = known
        return True

    def at_once(self, asked: list[tuple[Plain, float]]) -> list[Sent | None]:
        """The answers that can be given without a thread; None for each that cannot.

        Each is asked for with when it began, of time.perf_counter(). Those that are kept take one look at the
        database's moment, and those that are made one at what they show: all that is waited for.
        """
        looked = time.monotonic()
        plains = [plain for plain, _ in asked]
        answers = self._again(plains)
        missing = [place for place, answer in enumerate(answers) if answer is None]
        if missing and time.monotonic() < looked + SLOW:
            try:
                made = self._lane.find_together([plains[place] for place in missing])
            except Exception as error:
                log.info("not answered at once", extra={"reason": type(error).__name__})
                made = []
            for place, answer in zip(missing, made, strict=False):
                answers[place] = answer
        return [
            None if answer is None else self._sent(answer, plain, began)
            for answer, (plain, began) in zip(answers, asked, strict=True)
        ]

    def _again(self, plains: list[Plain]) -> list[Answer | None]:
        """The answers that are kept and hold."""
        kept = self._lane.kept
        moment = self._lane.guard.at_once() if any(plain.address in kept for plain in plains) else None
        return [None if moment is None else kept.get(plain.address, moment) for plain in plains]

    def found(self, plain: Plain, began: float) -> Sent | None:
        """The answer, kept or made; None where it is the application's, which is to be asked next in this thread."""
        try:
            with deadline.bounded():
                answer = self._lane.find(plain)
        except Exception as error:
            self._lane.failed.error = error
            return None
        return None if answer is None else self._sent(answer, plain, began)

    def whole(self, bare: Bare, server: dict[str, Any], waited: float = 0.0) -> Sent:
        """What the application answers; `server` is what the server and the connection say of themselves.

        The request has waited for a thread for so many seconds.

        Raises what escapes the application, and ValueError for headers that could not be told from others.
        """
        given: list[Any] = []
        if waited > STALE:
            bare.environ.pop(authentication.KNOWN, None)

        def begin(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
            given[:] = status, headers

        body = joined(self._app({**server, **bare.environ}, begin))
        status, headers = given
        if not status.startswith(BODILESS) and not any(name.lower() == "content-length" for name, _ in headers):
            headers = [*headers, ("Content-Length", str(len(body)))]
        lines = _lines(headers)
        if not lines.count(b"\r") == lines.count(b"\n") == len(headers):
            raise ValueError("a header of the answer holds the end of a line")
        return Sent(status.encode(), lines, body)

    def prepare(self) -> None:
        """Have the connection that looks are made over, for those that come next."""
        if not self._lane.guard.is_open:
            self._lane.guard.moment()

    def forget(self) -> None:
        """The application has been asked, or cannot be."""
        self._lane.failed.error = None

    def _sent(self, answer: Answer, plain: Plain, began: float) -> Sent:
        status, own, body = answer.to(plain)
        self._lane.note(answer, plain, status, began)
        return Sent(STATUSES[status].encode(), _lines(own) + _shared_lines(answer.shared), body)


def _lines(headers: Iterable[tuple[str, str]]) -> bytes:
    """The headers as they are sent."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers]).encode("latin-1")


_shared_lines = lru_cache(maxsize=8)(_lines)


def init_app(app: Flask) -> None:
    """Offer it to the server, where there is a lane."""
    lane = app.extensions.get("lane")
    if lane is not None:
        app.extensions["wire"] = Wire(app, lane)
