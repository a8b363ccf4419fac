"""What a caller is answered, by each way: the cache middleware, the event loop, and the application without a cache."""

from typing import Any
from unittest.mock import patch

from flask import Flask

from directory.cache.personal import PersonalReads
from directory.server.fast_path import FastPath, Response
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import Api, World
from tests.support.reading import in_loop, parsed

Answer = tuple[int, list[tuple[str, str]], bytes]


def bearer(world: World, user: Any) -> dict[str, str]:
    """The headers of a user with a fresh token."""
    return {"Authorization": f"Bearer {world.caller(user).token}"}


def cookie(app: Flask, username: str) -> dict[str, str]:
    """The headers of a browser in which a user has just signed in."""
    return {"Cookie": f"{COOKIE}={Browser(app).sign_in(username).cookie}", "Sec-Fetch-Site": "same-origin"}


def by_wsgi(app: Flask, path: str, headers: dict[str, str], method: str = "GET") -> Answer:
    """The answer of an application."""
    answer = Api(app).call(method, path, headers={"X-Request-ID": "mine", **headers})
    return answer.status_code, sorted(answer.headers), answer.data


def by_loop(fast: FastPath, path: str, headers: dict[str, str]) -> Answer | None:
    """The answer of the event loop; None where it has none."""
    response = in_loop(fast, parsed(path, **{"X-Request-ID": "mine", **headers}))
    return None if response is None else answer_of(response)


def answer_of(response: Response) -> Answer:
    """The parts of what the server sends."""
    lines = [line.partition(": ") for line in response.headers.decode().split("\r\n") if line]
    return int(response.status[:3]), sorted((name, value) for name, _, value in lines), response.body


class Personal:
    """Counts the personal responses that the cache makes; a caller that it refused once is tried again at once."""

    def __init__(self) -> None:
        self.made = 0
        self._patches = [
            patch("directory.cache.personal.REFUSED_SECONDS", -1.0),
            patch.object(PersonalReads, "_private", self._counted(PersonalReads._private)),
        ]

    def _counted(self, make: Any) -> Any:
        def counted(*given: Any) -> Any:
            self.made += 1
            return make(*given)

        return counted

    def __enter__(self) -> "Personal":
        for each in self._patches:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._patches:
            each.stop()
