"""What WSGI leaves to its users: the whole body of a response, and header lines as they are sent."""

from collections.abc import Iterable
from typing import NamedTuple


class Answer(NamedTuple):
    """A response of WSGI, whole."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes


def read_body(parts: Iterable[bytes]) -> bytes:
    """The whole body of a WSGI response, which is closed."""
    try:
        return b"".join(parts)
    finally:
        if close := getattr(parts, "close", None):
            close()


def header_lines(headers: Iterable[tuple[str, str]]) -> bytes:
    """The headers as they are sent."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers]).encode("latin-1")
