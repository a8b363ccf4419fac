"""nginx with the configuration that is shipped, before hosts of the tests' own, and callers that come through it."""

import http.client
import json
import re
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.processes import Folder, Server, free_port
from tests.support.servers import nginx_program, or_skip

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "deploy" / "nginx.conf"
CERTIFICATE = Path(__file__).with_name("loopback.pem")
TLS = ssl.create_default_context(cafile=str(CERTIFICATE))

# As in Debian's nginx.conf, as far as it matters here; every path is relative to the folder.
MAIN = """
worker_processes 1;
pid nginx.pid;
events {
    worker_connections 768;
}
http {
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    access_log off;
    include directory.conf;
}
"""


@pytest.fixture(scope="session")
def nginx_there() -> None:
    """Skips where there is no nginx; where there is one, it has to start."""
    with or_skip():
        nginx_program()


class Nginx:
    """A running nginx: its ports, and its log of requests."""

    def __init__(self, hosts: Sequence[int]) -> None:
        program, folder = nginx_program(), Folder("nginx", unprivileged=True)
        self.port, self.plain_port, self.log = free_port(), free_port(), folder.path / "requests.log"
        (folder.path / "tls.pem").write_bytes(CERTIFICATE.read_bytes())
        (folder.path / "nginx.conf").write_text(MAIN)
        (folder.path / "directory.conf").write_text(self._configuration(hosts))
        command = [program, "-p", folder.path, "-e", "stderr", "-c", "nginx.conf", "-g", "daemon off;"]
        self.server = Server(f"https://localhost:{self.port}", command, folder, self._answers)
        try:
            self.server.start()
        except BaseException:
            self.server.close()
            raise

    def close(self) -> None:
        self.server.close()

    def _answers(self) -> None:
        socket.create_connection(("127.0.0.1", self.port), timeout=2).close()

    def _configuration(self, hosts: Sequence[int]) -> str:
        """What is shipped, with the addresses, ports and paths of here."""
        text = SHIPPED.read_text()
        for pattern, here in (
            (r"10\.0\.0\.11:8000", f"127.0.0.1:{hosts[0]}"),
            (r"10\.0\.0\.12:8000", f"127.0.0.1:{hosts[1]}"),
            (r" *listen \[::\].*\n", ""),
            (r"listen 443 ", f"listen 127.0.0.1:{self.port} "),
            (r"listen 80;", f"listen 127.0.0.1:{self.plain_port};"),
            (r"/etc/letsencrypt/\S+\.pem", str(self.log.with_name("tls.pem"))),
            (r"/var/log/nginx/directory\.log", str(self.log)),
            (r"/var/lib/nginx/directory", str(self.log.with_name("cache"))),
        ):
            text, found = re.subn(pattern, here, text)
            assert found, f"nothing to put {here} in the place of"
        return text


class Answer(NamedTuple):
    """What came back. `headers` has names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def call(port: int, method: str, path: str, body: Any = None, *, address: str = "127.0.0.1", **headers: str) -> Answer:
    """One request over TLS from an address of loopback. Headers are named with _ for -; a dict is sent as JSON."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if data is not None:
        given.setdefault("Content-Type", "application/json")
    connection = http.client.HTTPSConnection("localhost", port, timeout=30, source_address=(address, 0), context=TLS)
    try:
        connection.request(method, path, body=data, headers=given)
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()
