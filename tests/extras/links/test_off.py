"""With LINK_CHECKS=off, which is the default, the service asks nothing of the outside."""

import socket
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
        asked.append(given[-2:])
        raise OSError

    admin = world.admin()
    caller, targets = world.caller(admin), Targets(world, admin)
    with monkeypatch.context() as patched:
        patched.setattr(socket.socket, "connect", refuse)
        patched.setattr("_socket.getaddrinfo", refuse)
        with pytest.raises(OSError, match="^$"):
            socket.create_connection(("example.org", 80))
        asked.clear()
        for route in routes(app):
            if route.name not in ENDING:
                path, project = targets.path(route.rule, "live")
                caller.call(route.method, path, **sending(app, route, project))
    assert asked == []
