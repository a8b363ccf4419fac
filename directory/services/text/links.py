"""The rules for links: validation of a URL, and its parts as browsers read them."""

import re
import unicodedata
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit

from directory.language.messages import _

URL_MAX = 2048
_HOST_MAX = 253
_PORT_MAX = 65_535

# ASCII: otherwise, with case ignored, U+017F would match the s of https.
URL = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
NOT_A_URL = _("Must be an absolute URL that begins with http:// or https://.")
AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?P<port>:.*)?", re.DOTALL)
_PORT = re.compile(":[0-9]{1,5}")
# A hyphen may be anywhere, as in browsers (WHATWG URL, CheckHyphens=false): "volans-.github.io" is a real host. The
# lengths are limited as in the DNS, which cannot resolve longer names.
_LABEL = re.compile("[a-z0-9_-]{1,63}")
_UNSAFE = frozenset('\\<>"')
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
_NO_HOST = _("Must name a valid host.")

# Names for private networks: RFC 6761, RFC 6762, ICANN's .internal, and names in common use. The domain .arpa has no
# websites, and home.arpa is private (RFC 8375).
_INTERNAL = (
    ".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home", ".corp", ".private",
    ".mail", ".arpa",
)  # fmt: skip
# In addition to `is_global`, which differs between versions of Python: only 2000::/3 of IPv6 is allocated, and other
# blocks contain old forms of internal addresses (::127.0.0.1, fec0::1). _SPECIAL is for protocols and documentation.
_ALLOCATED = IPv6Network("2000::/3")
_SPECIAL = (IPv4Network("192.0.0.0/24"), IPv6Network("3fff::/20"))
_INTERNAL_REASON = _("Must be an address on the public internet, not one of a private network.")


def check_url(value: str, *, internal: bool = False) -> str:
    """Return the absolute http or https URL as it is stored: trimmed, and otherwise as typed.

    With `internal` addresses of private networks are accepted too. Raises ValueError with the reason.
    """
    plain = value.isascii() and value.isprintable()  # the only invisible character that it may contain is a space
    if not plain and any(unicodedata.category(char) == "Cc" for char in value):
        raise ValueError(_("Must not contain line breaks or control characters."))
    url = value.strip()
    if not url:
        raise ValueError(_("Must not be blank."))
    if len(url) > URL_MAX:
        raise ValueError(_("Must have 1 to {number} characters.", number=URL_MAX))
    if not _UNSAFE.isdisjoint(url):
        raise ValueError(_('Must not contain \\, <, > or ".'))
    if " " in url or (not plain and any(map(_is_unseen, url))):
        raise ValueError(_("Must not contain white space or invisible characters."))
    host = _checked_host(url)
    if not internal and _is_internal(host):
        raise ValueError(_INTERNAL_REASON)
    return url


def ascii_host(url: str) -> str | None:
    """Return the host in Punycode if it has letters that are not ASCII, to be shown next to the URL; otherwise None.

    A name in Cyrillic can look like one in Latin. Punycode shows the difference.
    """
    read = parsed(url)
    typed = urlsplit(url).netloc
    return read.hostname if read is not None and not typed.isascii() and "xn--" in read.hostname else None


def _is_unseen(char: str) -> bool:
    is_noncharacter = ord(char) & 0xFFFE == 0xFFFE or "\ufdd0" <= char <= "\ufdef"
    return is_noncharacter or unicodedata.category(char) in _UNSEEN_CATEGORIES


def _checked_host(url: str) -> str:
    """Return the host of a URL as browsers send it. Raises ValueError."""
    typed, read = _typed_host(url), parsed(url)
    if read is None or "%" in typed:
        raise ValueError(_NO_HOST)
    host: str = read.hostname
    if _is_ipv4(host):
        if unicodedata.normalize("NFKC", typed) != host:  # browsers also read 0x7f.1 and 2130706433 as addresses
            raise ValueError(_("Must name a valid host: four decimal numbers make an IPv4 address."))
    elif not host.startswith("[") and (len(host) > _HOST_MAX or not all(map(_LABEL.fullmatch, host.split(".")))):
        raise ValueError(_NO_HOST)
    return host


def _typed_host(url: str) -> str:
    """Return the host as typed. Raises ValueError if the URL contains a user or an invalid port."""
    match = URL.fullmatch(url)
    if not match:
        raise ValueError(NOT_A_URL)
    if "@" in match["authority"]:
        raise ValueError(_("Must not contain a user name or password."))
    authority = AUTHORITY.fullmatch(match["authority"])
    if not authority or not authority["host"]:
        raise ValueError(_NO_HOST)
    port = authority["port"]
    if port is not None and not (_PORT.fullmatch(port) and 1 <= int(port[1:]) <= _PORT_MAX):
        raise ValueError(_("Must have a port of 1 to {number}, or none.", number=_PORT_MAX))
    return authority["host"]


def _is_ipv4(host: str) -> bool:
    """Whether a host as browsers send it is an IPv4 address: no other host ends in a number (WHATWG URL)."""
    return host.rpartition(".")[2].isdecimal()


def _is_internal(host: str) -> bool:
    if host.startswith("[") or _is_ipv4(host):
        return not is_public(ip_address(host.strip("[]")))
    return "." not in host or f".{host}".endswith(_INTERNAL)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address, and any IPv4 address embedded in it, is reachable on the internet."""
    if isinstance(address, IPv6Address):
        carried = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()), _translated(address))
        if any(inner is not None and not is_public(inner) for inner in carried):
            return False
        if address.ipv4_mapped is not None or _translated(address) is not None:
            return True
        if address not in _ALLOCATED:
            return False
    is_special = any(address in network for network in _SPECIAL)
    return address.is_global and not address.is_multicast and not is_special


def _translated(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address in a NAT64 address (RFC 6052), 64:ff9b::/96."""
    return IPv4Address(address.packed[12:]) if address.packed[:12] == b"\x00\x64\xff\x9b" + bytes(8) else None


@lru_cache(64)  # a submission asks several times
def parsed(url: str) -> Any:
    """Return the URL as browsers parse it (WHATWG URL), or None if they refuse it. Nobody changes it."""
    try:
        return _parser()(url)
    except (ValueError, UnicodeError):
        return None


@cache
def _parser() -> Any:
    from ada_url import URL  # imported late, because it takes 50 ms

    return URL
