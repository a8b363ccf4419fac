"""Caddy with the Caddyfile that is shipped, before a port of the tests."""

import re
import socket
import ssl
from pathlib import Path

from tests.support.processes import Folder, Server, free_port
from tests.support.servers import debian_program

CADDYFILE = (Path(__file__).resolve().parents[2] / "deploy" / "Caddyfile").read_text()


class Caddy:
    """A running Caddy. Raises ServerMissing where there is none."""

    def __init__(self, host: int) -> None:
        program, folder = debian_program("caddy", "caddy"), Folder("caddy", unprivileged=True)
        self.port, self.plain_port = free_port(), free_port()
        self.authority = folder.path / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        text, found = re.subn(r"directory:8000", f"127.0.0.1:{host}", CADDYFILE)
        assert found == 1
        (folder.path / "Caddyfile").write_text(text)
        self.url = f"https://localhost:{self.port}"
        given = {"XDG_DATA_HOME": ".", "SITE_URL": self.url, "HTTP_PORT": self.plain_port}
        environment = [f"{name}={value}" for name, value in given.items()]
        command: list[object] = ["/usr/bin/env", *environment, program, "run", "--config", "Caddyfile"]
        self.server = Server(self.url, command, folder, self._answers)
        self.server.start()

    def close(self) -> None:
        self.server.close()

    def call(self, request: str, body: str = "", *, tls: bool = True) -> tuple[int, dict[str, str], bytes]:
        """The status, headers and body of the answer to one request, whose head is given without its end."""
        with self._connect(tls) as connection:
            connection.sendall(f"{request}\nConnection: close\n\n".replace("\n", "\r\n").encode() + body.encode())
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        head, _, content = answer.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = [line.split(": ", 1) for line in lines[1:]]
        return int(lines[0].split()[1]), {name.lower(): value for name, value in headers}, content

    def _connect(self, tls: bool) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port if tls else self.plain_port), timeout=10)
        if not tls:
            return connection
        return ssl.create_default_context(cafile=str(self.authority)).wrap_socket(
            connection, server_hostname="localhost"
        )

    def _answers(self) -> None:
        self._connect(tls=True).close()
