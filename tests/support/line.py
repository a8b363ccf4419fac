"""A keep-alive connection to a server, and the bytes that go over it."""

import socket

from tests.support.serving import Serving


class Line:
    """A keep-alive connection to the server."""

    def __init__(self, server: Serving) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        self.file = self.socket.makefile("rb")

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[bytes, dict[str, str], bytes]:
        """The status line, the headers and the body of an answer."""
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode())
        status, told = self.file.readline(), {}
        while line := self.file.readline().decode().strip():
            name, _, value = line.partition(": ")
            assert name not in told
            told[name] = value
        return status, told, self.file.read(int(told.get("Content-Length", 0)))

    def close(self) -> None:
        self.file.close()
        self.socket.close()
