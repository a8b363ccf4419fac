"""Several servers in DATABASE_URL, one of which is the primary: which of them connections lead to.

PostgreSQL does not notify clients of a failover. The first new connection that leads to another server shows it. From
then on connections to the server before are not used: it may be out of reach, or answer without knowing that it was
replaced.
"""

import logging
from collections.abc import Mapping
from typing import Any

log = logging.getLogger(__name__)


class Servers:
    """The servers of an engine, and the one that the last new connection led to, None before the first."""

    def __init__(self) -> None:
        self.current: str | None = None
        self._silent: set[str] = set()

    def attempts(self, named: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Each server's name and the driver's arguments for it: the current one first, those that gave no answer last.

        An attempt at a server that gives none takes connect_timeout, and a request has hardly time for two.
        """
        hosts, ports = str(named.get("host", "")).split(","), str(named.get("port", "")).split(",")
        if len(ports) == 1:
            ports *= len(hosts)
        if len(hosts) == 1 or len(ports) != len(hosts) or "hostaddr" in named:
            return [("", dict(named))]  # the driver tries them in their order, or says what is wrong
        found = [
            (f"{host}:{port}", {**named, "host": host, "port": port}) for host, port in zip(hosts, ports, strict=True)
        ]
        return sorted(found, key=lambda attempt: (attempt[0] in self._silent, attempt[0] != self.current))

    def connected(self, server: str) -> None:
        """Note that a new connection leads to this server."""
        if self.current not in {None, server}:
            log.warning("another server of DATABASE_URL is the primary", extra={"server": server})
        self.current = server
        self._silent.discard(server)

    def timed_out(self, server: str) -> None:
        """Note that this server gave no answer."""
        self._silent.add(server)
