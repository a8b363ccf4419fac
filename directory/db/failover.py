"""Failover between several servers in DATABASE_URL, one of which is the primary.

PostgreSQL does not notify clients of a failover; the first new connection to another server shows it. From then on
connections to the previous server are not used: it may be unreachable, or still answer although it was replaced.
"""

import logging
from collections.abc import Mapping
from typing import Any

log = logging.getLogger(__name__)


class Servers:
    """The servers of an engine, and the server of the newest connection (None before the first)."""

    def __init__(self) -> None:
        self.current: str | None = None
        self._silent: set[str] = set()

    def attempts(self, named: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Each server's name and the driver's arguments for it: the current one first, those that did not answer last.

        An attempt that gets no answer takes connect_timeout, and a request hardly has time for two.
        """
        hosts, ports = str(named.get("host", "")).split(","), str(named.get("port", "")).split(",")
        if len(ports) == 1:
            ports *= len(hosts)
        if len(hosts) == 1 or len(ports) != len(hosts) or "hostaddr" in named:
            return [("", dict(named))]  # the driver tries them in their order, or reports the error
        found = [
            (f"{host}:{port}", {**named, "host": host, "port": port}) for host, port in zip(hosts, ports, strict=True)
        ]
        return sorted(found, key=lambda attempt: (attempt[0] in self._silent, attempt[0] != self.current))

    def connected(self, server: str) -> None:
        """Record that a new connection reached this server."""
        if self.current not in {None, server}:
            log.warning("another server of DATABASE_URL is the primary", extra={"server": server})
        self.current = server
        self._silent.discard(server)

    def timed_out(self, server: str) -> None:
        """Record that this server did not answer."""
        self._silent.add(server)
