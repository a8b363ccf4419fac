"""The mail server and the sender. Each function raises ValueError; no reason repeats a password."""

import ipaddress
import re
from email.utils import parseaddr
from typing import Any
from urllib.parse import unquote

import idna

from settings.values import LONGEST_NAME, refuse_unescaped, web_address

NAME = "mail"  # of the mail server among the endpoints
PORTS = {"smtp": 587, "smtps": 465}
ADDRESS = re.compile(r"[^\s@<>()\[\]\\,;:\"]{1,64}@[a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?", re.ASCII)


def server(value: str) -> dict[str, Any] | None:
    """The mail server and the encryption of its connection; None without the setting.

    `smtps` uses TLS from the first byte, `smtp` switches to TLS by STARTTLS before anything is sent. To this machine
    `smtp` is not encrypted, because a local relay often has a certificate that cannot be verified.
    """
    if not value:
        return None
    refuse_unescaped(value)
    parts = web_address(value, PORTS)
    if parts is None or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError("is not the address of a mail server, such as smtp://user:password@mail.example.org:587")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    credentials = user + password
    if bool(user) != bool(password) or not (credentials.isascii() and credentials.isprintable()):
        raise ValueError("must have both a user and a password, in ASCII, or neither; write special characters as %40")
    host = str(parts.hostname)
    encryption = "tls" if parts.scheme == "smtps" else "none" if is_loopback(host) else "starttls"
    port = parts.port or PORTS[parts.scheme]
    return {"host_name": host, "port": port, "user": user, "password": password, "encryption": encryption}


def sender(value: str) -> tuple[str, str] | None:
    """The name, which may be empty, and the address that mail comes from; None if there is no such setting."""
    if not value:
        return None
    name, address = parseaddr(value)
    # As it is written, before the domain becomes ASCII.
    written = value in {address, f"<{address}>", f"{name} <{address}>", f'"{name}" <{address}>'}
    address = _ascii_domain(address)
    if (
        not written
        or not (value.isprintable() and address.isascii())
        or len(name) > LONGEST_NAME
        or not ADDRESS.fullmatch(address)
    ):
        raise ValueError("is not a sender, such as directory@example.org or Project Directory <directory@example.org>")
    return name, address


def _ascii_domain(address: str) -> str:
    """An address with its domain in ASCII (A-labels), if it has such a form."""
    local, at, domain = address.rpartition("@")
    try:
        return address if domain.isascii() else f"{local}{at}{idna.encode(domain, uts46=True).decode('ascii')}"
    except UnicodeError:  # an IDNAError is one
        return address


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
