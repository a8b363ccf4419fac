"""A session of requests whose one connection is in the hands of a wire, for an exchange that ends at its deadline."""

import logging
import socket
import ssl
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from directory.services.delivery.wire import Wire

# urllib3 logs whole addresses, at every level: a receiver's broken header would bring a chat's secret into our log.
logging.getLogger("urllib3").setLevel(logging.CRITICAL + 1)


class WireAdapter(HTTPAdapter):
    """Opens connections under the eye of a wire."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    def build_connection_pool_key_attributes(self, *args: Any, **options: Any) -> Any:
        host, tls = super().build_connection_pool_key_attributes(*args, **options)
        if host["scheme"] == "https":
            # The authorities that the system trusts, as for mail; requests adds those of the package certifi.
            tls["ssl_context"] = context = ssl.create_default_context()
            context.hostname_checks_common_name = False  # as browsers and urllib3 have it
        return host, tls

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **options)
        wire, parent = self._wire, pool.ConnectionCls

        class Connection(parent):  # type: ignore[misc,valid-type]
            def _new_conn(self) -> socket.socket:
                return wire.admit(super()._new_conn())

        pool.ConnectionCls = Connection
        return pool


class WireSession(requests.Session):
    """One exchange's session: nothing from the environment, no cookies of another, no redirects."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self.trust_env = False
        self.mount("https://", WireAdapter(wire))
        self.mount("http://", WireAdapter(wire))

    def get_redirect_target(self, _response: requests.Response) -> None:
        """Follow no redirect. Even with allow_redirects=False, requests looks ahead and reads the whole body."""
