"""SIGNUP_DOMAINS: the domains of mail whose people may open an account, or give theirs another address.

An entry is a domain in ASCII (A-labels), or one after `*.` for all domains below it. Without entries all may.
"""

from sqlalchemy import ColumnElement, not_, or_

from directory.models import User

BELOW = "*"


def admits(domains: tuple[str, ...], email: str) -> bool:
    """Whether an address, as it is stored, is in one of the domains."""
    return not domains or email.endswith(tuple(ending(each) for each in domains))


def is_outside(domains: tuple[str, ...]) -> ColumnElement[bool]:
    """The condition of accounts whose address is in none of the domains; a deleted account has no address."""
    ends = (User.email.endswith(ending(each), autoescape=True) for each in domains)
    return User.deleted_at.is_(None) & not_(or_(*ends))


def ending(entry: str) -> str:
    """What addresses of an entry end with: `@example.org`, or `.example.org` where it stands for all domains below."""
    return entry.removeprefix(BELOW) if entry.startswith(BELOW) else f"@{entry}"
