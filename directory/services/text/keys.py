"""The keys by which rules compare: the registrable domain of a website, the digest of a text, the numbers of words.

The two data packages are imported at the first use, because a server that judges nothing needs neither.
"""

from functools import cache, lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from typing import Any

from directory.services.text.characters import fold
from directory.services.text.links import URL, parsed

LEAST = 20  # characters of a description that is compared with others


# A submission and its judgement ask for the same keys.
@lru_cache(16)
def domain_of(url: str) -> str | None:
    """The registrable domain of a website, as A-labels, by the Public Suffix List; of an address without one its host.

    None for text that is not a URL.
    """
    read = parsed(url) if URL.fullmatch(url) else None
    return None if read is None else registrable(read.hostname)


def keys_of(project: Any) -> tuple[str | None, str | None]:
    """The columns `domain` and `text_key` of a project, from its URL and its description."""
    return domain_of(project.url), text_key(project.description)


def registrable(host: str) -> str:
    """The registrable domain of a host: `example.co.uk` for `www.example.co.uk`; otherwise the host itself."""
    host = host.rstrip(".")
    return host if _is_address(host) else _suffixes().privatesuffix(host) or host


def is_registrable(host: str) -> bool:
    """Whether a host is an address, or a domain that somebody can register: neither `co.uk` nor `www.example.org`."""
    return _is_address(host) or bool(_suffixes().privatesuffix(host) == host)


def is_disposable(domain: str) -> bool:
    """Whether a mail domain, or one above it, gives out addresses for a few minutes."""
    known, labels = _disposable(), domain.split(".")
    return any(".".join(labels[n:]) in known for n in range(len(labels) - 1))


@lru_cache(16)
def text_key(text: str) -> str | None:
    """A digest that two texts share if they differ only in what search folds, and in spaces; None for a short text."""
    return None if len(text.strip()) < LEAST else _digest(" ".join(fold(text).split()), 16).hex()


def number_of(word: str) -> int:
    """The number that stands for a word or a domain in stored facts."""
    return int.from_bytes(_digest(word, 8)) >> 1  # a signed number of 64 bits holds it


def _digest(text: str, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


@cache
def _suffixes() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


@cache
def _disposable() -> frozenset[str]:
    from disposable_email_domains import blocklist

    return frozenset(blocklist)
