"""With LINK_CHECKS=off, which is the default, the service asks nothing of the outside."""

import socket
from contextlib import suppress
from typing import Any

import pytest

from tests.support.factories import World
from tests.support.routes import ENDING, Targets, routes, sending


def test_while_it_is_off_no_request_to_any_route_opens_a_socket_or_resolves_a_name(
    make_app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(REPORTS="everybody", APPEALS="on")
    world, asked = World(app), list[Any]()

    def refuse(*given: Any) -> Any:
        asked.append(given)
        raise OSError

    admin = world.admin()
    caller, targets = world.caller(admin), Targets(world, admin)
    with monkeypatch.context() as patched:
        patched.setattr(socket.socket, "connect", refuse)
        patched.setattr("_socket.getaddrinfo", refuse)
        with suppress(OSError):
            socket.create_connection(("example.org", 80))
        assert asked.pop()[:2] == ("example.org", 80)  # it counts
        for route in routes(app):
            if route.name not in ENDING:
                path, project = targets.path(route.rule, "live")
                caller.call(route.method, path, **sending(app, route, project))
    assert asked == []
