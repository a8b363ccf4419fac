"""The domains of mail whose people may open accounts. Each function raises ValueError with the reason."""

import re

import idna

from settings.values import separated

LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
DOMAIN = re.compile(rf"{LABEL}(\.{LABEL})+")
LONGEST = 253
BELOW = "*."


def signup(value: str) -> tuple[str, ...]:
    """Domains separated by commas, in ASCII (A-labels); `*.` before one stands for all below it."""
    return tuple(dict.fromkeys(map(_entry, separated(value))))


def _entry(given: str) -> str:
    mark = BELOW if given.startswith(BELOW) else ""
    domain = given.removeprefix(mark).lower()
    try:
        found = domain if domain.isascii() else idna.encode(domain, uts46=True).decode("ascii").lower()
    except UnicodeError:  # an IDNAError is one
        found = ""
    if len(found) > LONGEST or not DOMAIN.fullmatch(found):
        raise ValueError(f"{given!r} is not a domain, such as example.org or *.example.org")
    return mark + found
