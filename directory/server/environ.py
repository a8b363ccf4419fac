"""The WSGI environment of a request, from the parts of its head, and what stands in it for a body that broke off."""

import sys
from functools import lru_cache
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

# What all requests share. `wsgi.input` ends where the body does.
BASE: dict[str, Any] = {
    "wsgi.errors": sys.stderr, "wsgi.version": (1, 0), "wsgi.multithread": True, "wsgi.multiprocess": True,
    "wsgi.run_once": False, "wsgi.input_terminated": True, "wsgi.url_scheme": "http", "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "gunicorn",
}  # fmt: skip
_UNPREFIXED = {"CONTENT_TYPE", "CONTENT_LENGTH"}


class BrokenBody(BytesIO):
    """The part of a body that was received, where the rest is missing: to read beyond it is an error."""

    def read(self, size: int | None = -1) -> bytes:
        """Some bytes. Raises ConnectionError where the received part ends."""
        data = super().read(size)
        if not data or size is None or size < 0:
            raise ConnectionError("the body broke off")
        return data


def of_connection(client: Any, server: Any) -> dict[str, Any]:
    """What all requests of a connection between two addresses share; a socket in the file system has no numbers."""
    if not isinstance(server, tuple):
        return {**BASE, "REMOTE_ADDR": "", "SERVER_NAME": str(server), "SERVER_PORT": ""}
    remote = {"REMOTE_ADDR": client[0], "REMOTE_PORT": str(client[1])}
    return {**BASE, **remote, "SERVER_NAME": server[0], "SERVER_PORT": str(server[1])}


def of_line(method: str, target: str, version: str) -> dict[str, str]:
    """What a request line gives."""
    path, query = _split(target)
    path = unquote_to_bytes(path).decode("latin-1") if "%" in path else path
    return {
        "REQUEST_METHOD": method, "SERVER_PROTOCOL": f"HTTP/{version}", "RAW_URI": target, "PATH_INFO": path,
        "QUERY_STRING": query,
    }  # fmt: skip


@lru_cache(maxsize=200)
def variable(name: bytes) -> str:
    """The name of a header in a WSGI environment."""
    plain = name.decode("latin-1").upper().replace("-", "_")
    return plain if plain in _UNPREFIXED else f"HTTP_{plain}"


def _split(target: str) -> tuple[str, str]:
    """The path and the query of a target, of a whole address too."""
    if target.startswith("/") and "#" not in target:
        path, _, query = target.partition("?")
        return path, query
    try:
        parts = urlsplit(f".{target}" if target.startswith("//") else target)
    except ValueError:
        return target, ""
    if parts.netloc and not parts.path:
        return "/", parts.query  # RFC 3986 section 6.2.3
    return parts.path.removeprefix(".") if target.startswith("//") else parts.path, parts.query
