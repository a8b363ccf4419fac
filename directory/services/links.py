"""The rules for links: which URLs are taken, and when two of them are the same."""

import hashlib
import re
import unicodedata
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

import idna

from directory.services.text import clean_text

URL_MAX = 2048
_HOST_MAX = 253
_PORT_MAX = 65_535
_DEFAULT_PORTS = {"http": 80, "https": 443}

# ASCII, or ignoring case would let U+017F stand for the s of https.
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?P<port>:.*)?", re.DOTALL)
_PORT = re.compile(":[0-9]{1,5}")
# Hyphens may stand anywhere, as browsers have it (WHATWG URL, CheckHyphens=false): "volans-.github.io" is a real host.
# The DNS's own bounds stay, for no name beyond them leads anywhere.
_LABEL = re.compile("[a-z0-9_-]{1,63}")
# Browsers read a host whose last label is one of these as an IPv4 address, in any base.
_NUMBER = re.compile("[0-9]+|0x[0-9a-f]*")
_UNSAFE = frozenset('\\<>"')
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})


class _Parts(NamedTuple):
    """A URL taken apart; `port` is None where it is absent, `query` has its question mark."""

    scheme: str
    host: str
    port: int | None
    path: str
    query: str


def check_url(value: str) -> str:
    """The absolute http or https URL as it is stored: NFC, trimmed; ValueError says why it is refused."""
    url = clean_text(value, minimum=1, maximum=URL_MAX)
    if not _UNSAFE.isdisjoint(url):
        raise ValueError('Must not hold \\, <, > or ".')
    if any(unicodedata.category(char) in _UNSEEN_CATEGORIES for char in url):
        raise ValueError("Must not hold white space or invisible characters.")
    _canonical_host(_split(url).host)
    return url


def url_key(url: str) -> str:
    """The identity of a URL, as 64 hexadecimal digits: equal for two URLs that count as the same.

    They do where they differ only in the scheme, the case of the host, a leading `www.`, the default port, a
    trailing slash or the fragment. ValueError for what is no URL.
    """
    parts = _split(url)
    try:
        host = _canonical_host(parts.host)
    except ValueError:
        # A name that another version of the IDNA tables took; it still equals itself in any case.
        host = parts.host.lower()
    host = host.removeprefix("www.")
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    identity = f"{host}{port}{parts.path.removesuffix('/')}{parts.query}"
    # A hash, for the unique index: PostgreSQL refuses index rows past 2.7 kB, which a URL of 2,048 characters
    # can be in UTF-8.
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


def _split(url: str) -> _Parts:
    """The parts of a URL, of which the host is not yet looked at."""
    match = _URL.fullmatch(url)
    if not match:
        raise ValueError("Must be an absolute URL that begins with http:// or https://.")
    if "@" in match["authority"]:
        raise ValueError("Must not hold a user name or password.")
    authority = _AUTHORITY.fullmatch(match["authority"])
    if not authority:
        raise ValueError("Must name a valid host.")
    port = _port(authority["port"])
    return _Parts(match["scheme"].lower(), authority["host"], port, match["path"], match["query"] or "")


def _port(text: str | None) -> int | None:
    """The number of `:port`, or None where there is none."""
    if text is None:
        return None
    if not _PORT.fullmatch(text) or not 1 <= int(text[1:]) <= _PORT_MAX:
        raise ValueError(f"Must have a port of 1 to {_PORT_MAX}, or none.")
    return int(text[1:])


def _canonical_host(host: str) -> str:
    """The host as one spelling: names in lower-case ASCII (Punycode), IPv6 addresses as their 16 bytes."""
    if host.startswith("["):
        return _ipv6(host[1:-1])
    try:
        name = host.lower() if host.isascii() else _to_ascii(host)
    except UnicodeError:
        raise ValueError("Must name a valid host.") from None
    labels = name.split(".")
    if len(name) > _HOST_MAX or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError("Must name a valid host.")
    if _NUMBER.fullmatch(labels[-1]):
        _require_ipv4(name)
    return name


def _to_ascii(host: str) -> str:
    """A name with other than ASCII letters as browsers send it; UnicodeError where they would not."""
    if len(host) > _HOST_MAX:
        raise UnicodeError("too long to be a host, and to encode")
    # Not `idna.encode`, which refuses what browsers and registries take (emoji, underscores), and not the
    # codec of the standard library, which makes "straße" and "strasse" one host.
    labels = idna.uts46_remap(host, std3_rules=False, transitional=False).split(".")
    return ".".join(map(_punycode, labels))


def _punycode(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"


def _ipv6(text: str) -> str:
    try:
        address = IPv6Address(text)
    except ValueError:
        raise ValueError("Must name a valid IPv6 address between the brackets.") from None
    if address.scope_id:
        raise ValueError("Must not name a zone of an IPv6 address.")
    # Not `str(address)`: how that writes mapped IPv4 addresses changes with the version of Python.
    return f"[{address.packed.hex()}]"


def _require_ipv4(name: str) -> None:
    try:
        IPv4Address(name)
    except ValueError:
        raise ValueError("Must name a valid host: four decimal numbers make an IPv4 address.") from None
