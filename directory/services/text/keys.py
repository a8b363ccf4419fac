"""The keys by which projects are compared: the registrable domain of a website, and the digest of a text."""

from functools import cache
from hashlib import blake2b
from ipaddress import ip_address
from typing import Any

from directory.services.text.characters import fold
from directory.services.text.links import URL, parsed

LEAST = 20  # characters of a description that is compared with others


def domain_of(url: str) -> str | None:
    """The registrable domain of a website, as A-labels, by the Public Suffix List; of an address without one its host.

    `example.co.uk` for https://www.example.co.uk; None for text that is not a URL.
    """
    read = parsed(url) if URL.fullmatch(url) else None
    if read is None:
        return None
    host: str = read.hostname.rstrip(".")
    return host if _is_address(host) else _suffixes().privatesuffix(host) or host


def keys_of(project: Any) -> tuple[str | None, str | None]:
    """The columns `domain` and `text_key` of a project, from its URL and its description."""
    return domain_of(project.url), text_key(project.description)


def is_registrable(host: str) -> bool:
    """Whether a host is an address, or a domain that somebody can register: neither `co.uk` nor `www.example.org`."""
    return _is_address(host) or bool(_suffixes().privatesuffix(host) == host)


def text_key(text: str) -> str | None:
    """A digest that two texts share if they differ only in what search folds, and in spaces; None for a short text."""
    if len(text.strip()) < LEAST:
        return None
    return blake2b(" ".join(fold(text).split()).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


@cache
def _suffixes() -> Any:
    from publicsuffixlist import PublicSuffixList  # not before it is needed

    return PublicSuffixList()
