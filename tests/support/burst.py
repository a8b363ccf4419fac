"""Requests that are all sent before the first answer is read, over a connection each: none waits for another here."""

import contextlib
import json
import selectors
import socket
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

WITHIN = 60.0


@dataclass(frozen=True)
class Ask:
    """A request to be sent."""

    method: str
    path: str
    json: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def as_bytes(self) -> bytes:
        """The request as it goes over the wire; the server closes the connection after its answer."""
        body = b"" if self.json is None else json.dumps(self.json).encode()
        headers = {"Host": "127.0.0.1", "Connection": "close", "Content-Length": str(len(body)), **self.headers}
        if body:
            headers["Content-Type"] = "application/json"
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + body


def bearer(token: str) -> dict[str, str]:
    """The header by which a program signs in."""
    return {"Authorization": f"Bearer {token}"}


class Answer(NamedTuple):
    """What came back, and how long after all had been sent."""

    status: int
    body: bytes
    seconds: float

    @property
    def json(self) -> Any:
        """The body, which is JSON."""
        return json.loads(self.body)


def burst(port: int, asks: Iterable[Ask]) -> list[Answer]:
    """The answers, in the order of the requests. Raises OSError where one gets none."""
    answers = dict(arrivals(port, asks))
    return [answers[number] for number in sorted(answers)]


def arrivals(port: int, asks: Iterable[Ask]) -> list[tuple[int, Answer]]:
    """The answers in the order in which they come, each with the number of its request."""
    came: list[tuple[int, Answer]] = []
    with contextlib.ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        parts: dict[int, bytes] = {}
        for number, ask in enumerate(asks):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), WITHIN))
            connection.sendall(ask.as_bytes())
            selector.register(connection, selectors.EVENT_READ, number)
            parts[number] = b""
        began = time.monotonic()
        while len(came) < len(parts):
            ready = selector.select(WITHIN)
            if not ready:
                raise TimeoutError(f"{len(came)} of {len(parts)} answers came")
            for key, _ in ready:
                chunk = key.fileobj.recv(65536)  # type: ignore[union-attr]
                parts[key.data] += chunk
                if not chunk:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]  # gunicorn's own worker waits for it
                    came.append((key.data, _parsed(parts[key.data], began)))
    return came


def ask(port: int, method: str, path: str, **options: Any) -> Answer:
    """One request."""
    return burst(port, [Ask(method, path, **options)])[0]


def tally(answers: Iterable[Answer]) -> dict[int, int]:
    """How many answers there were of each status."""
    return dict(Counter(answer.status for answer in answers))


def _parsed(answer: bytes, began: float) -> Answer:
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 "):
        raise ConnectionError(f"no answer: {answer[:80]!r}")
    return Answer(int(head[9:12]), body, time.monotonic() - began)
