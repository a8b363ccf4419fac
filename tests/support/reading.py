"""What the server makes of a request, without a server."""

import time
from typing import Any

from flask import Flask
from gunicorn.config import Config

from directory.http import hooks
from directory.server.application import Application, ReceivedRequest, Response
from directory.server.connections import Connection
from directory.server.fast_path import FastPath
from directory.server.request_reader import ParsedRequest, recognise

CLIENT, SERVER = ("192.0.2.1", 5), ("localhost", 80)


def parsed(path: str, method: str = "GET", **headers: str) -> ParsedRequest:
    """A request that the server recognises. Underscores in the names of headers stand for hyphens."""
    given = {"Host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    request = recognise(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode(), 0, hooks.request_id)
    assert request is not None, path
    return request


def received(request: ParsedRequest, *, waited: float = 0.0) -> ReceivedRequest:
    """The request as it has come over a connection, so many seconds ago."""
    sock: Any = None
    return ReceivedRequest(Connection(sock, CLIENT, SERVER), request, time.perf_counter() - waited)


def fast_path(app: Flask) -> FastPath:
    """What the loop of a server answers of an application whose validator has its connection."""
    app.extensions["snapshot_validator"].snapshot()
    return FastPath(app, lambda work: work())


def in_loop(path: FastPath, request: ParsedRequest) -> Response | None:
    """The loop's response; None where a thread has to answer."""
    return together_in_loop(path, [request])[0]


def together_in_loop(path: FastPath, requests: list[ParsedRequest]) -> list[Response | None]:
    """The loop's responses to requests of one iteration; None for each that a thread has to answer."""
    came = [received(request) for request in requests]
    taken = {each for each in came if path.take(each)}
    responses = dict(path.respond())
    assert responses.keys() == taken
    return [responses.get(each) for each in came]


def is_taken(path: FastPath, request: ParsedRequest) -> bool:
    """Whether the loop may answer a request, which it then does."""
    taken = path.take(received(request))
    assert len([*path.respond()]) == taken
    return taken


def by_application(app: Flask, request: ParsedRequest, *, waited: float = 0.0) -> Response:
    """The application's response."""
    return Application(app, Config()).respond(received(request, waited=waited))
