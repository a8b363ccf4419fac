"""What the server makes of a request, without a server."""

import time
from typing import Any

from flask import Flask
from gunicorn.config import Config

from directory.http import hooks
from directory.server.connections import Connection
from directory.server.fast_path import Application, Asked, FastPath, Response
from directory.server.request_reader import ParsedRequest, recognise

CLIENT, SERVER = ("192.0.2.1", 5), ("localhost", 80)


def parsed(path: str, method: str = "GET", **headers: str) -> ParsedRequest:
    """A request that the server recognises. Underscores in the names of headers stand for hyphens."""
    given = {"Host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    request = recognise(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode(), 0, hooks.request_id)
    assert request is not None, path
    return request


def asked(request: ParsedRequest, *, waited: float = 0.0) -> Asked:
    """The request as it has come over a connection, so many seconds ago."""
    sock: Any = None
    return Asked(Connection(sock, CLIENT, SERVER), request, time.perf_counter() - waited)


def fast_path(app: Flask) -> FastPath:
    """What the loop of a server answers of an application whose validator has its connection."""
    app.extensions["snapshot_validator"].snapshot()
    return FastPath(app, lambda work: work())


def in_loop(path: FastPath, request: ParsedRequest) -> Response | None:
    """The loop's answer; None where it is a thread's."""
    each = asked(request)
    if request.personal is not None and not path.may_answer(each):
        return None
    return path.answer([each])[0]


def by_application(app: Flask, request: ParsedRequest, known: Any = None, *, waited: float = 0.0) -> Response:
    """The application's answer."""
    return Application(app, Config()).respond(asked(request, waited=waited), known)
