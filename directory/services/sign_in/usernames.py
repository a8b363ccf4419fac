"""A username for an account that is opened by a provider."""

import re
import secrets
import unicodedata
from collections.abc import Iterable

from sqlalchemy import select

from directory.extensions import db
from directory.models import User
from directory.services.accounts.reserved import is_reserved
from directory.services.text import USERNAME

LONGEST = 32
NUMBERED = 9  # ada-2 to ada-9; after these at random
FALLBACK = "member"


def free(names: Iterable[str]) -> str:
    """The first of the names that can be a username, with a suffix where it is taken or reserved.

    A name that is a whole address is passed over. The last of the names is the local part of the account's own.
    """
    name = next((found for each in names if (found := _valid(each))), "")
    candidates = [*(_with(name, str(n)) if n > 1 else name for n in range(1, NUMBERED + 1))] if name else []
    candidates += [_with(name or FALLBACK, secrets.token_hex(size)) for size in (2, 3, 6)]
    usable = [each for each in candidates if not is_reserved(each)]
    taken = set(db.session.scalars(select(User.username).where(User.username.in_(usable))))
    return next((each for each in usable if each not in taken), _with(FALLBACK, secrets.token_hex(10)))


def _valid(name: str) -> str:
    """The name in the letters of usernames; empty if none is left."""
    if "@" in name:
        return ""
    plain = unicodedata.normalize("NFKD", name[: 4 * LONGEST]).encode("ascii", "ignore").decode().lower()
    found = re.sub("[^a-z0-9_]+", "-", plain).strip("-_")[:LONGEST].rstrip("-_")
    return found if USERNAME.fullmatch(found) else ""


def _with(name: str, suffix: str) -> str:
    return f"{name[: LONGEST - 1 - len(suffix)]}-{suffix}"
