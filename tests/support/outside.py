"""What the process of the tests connects to outside: nothing, for LINK_CHECKS is off but where a test has its own site.

Each test counts (tests/conftest.py). Addresses that are not public, such as those of this machine and of documentation,
are not outside.
"""

import socket
from ipaddress import ip_address
from typing import Any

connected: list[Any] = []
_connect = socket.socket.connect


def watch() -> None:
    """Refuse connections to public addresses from now on, and remember them: who asks may hide that it was refused."""
    socket.socket.connect = _watched  # type: ignore[method-assign]


def _watched(self: socket.socket, address: Any) -> None:
    if self.family in {socket.AF_INET, socket.AF_INET6} and is_outside(address[0]):
        connected.append(address)
        raise ConnectionRefusedError(f"a test connects to {address}")
    _connect(self, address)


def is_outside(host: str) -> bool:
    """Whether a host is a public address, or a name that has to be looked up."""
    try:
        return ip_address(host.partition("%")[0]).is_global
    except ValueError:
        return host != "localhost"
