"""A free username for an account that a provider opens."""

import re
import secrets
from collections.abc import Iterable

from sqlalchemy import select

from directory.extensions import db
from directory.models import User
from directory.services.accounts.usernames import is_reserved
from directory.services.text.characters import fold
from directory.services.text.rules import USERNAME

LONGEST = 32
NUMBERED = 9  # ada-2 to ada-9; after these at random
FALLBACK = "member"


def free(names: Iterable[str]) -> str:
    """A free username made from the first of the names that has enough characters of usernames.

    A name that contains `@` is skipped. A name that is taken or reserved gets a suffix. If none of the names can be
    used, such as those that begin with `deleted-`, the username is made from FALLBACK.
    """
    name = next((valid for candidate in names if (valid := _valid(candidate))), "")
    candidates = [*(_with(name, str(n)) if n > 1 else name for n in range(1, NUMBERED + 1))] if name else []
    candidates += [_with(name or FALLBACK, secrets.token_hex(size)) for size in (2, 3, 6)]
    usable = [candidate for candidate in candidates if not is_reserved(candidate)]
    taken = set(db.session.scalars(select(User.username).where(User.username.in_(usable))))
    return next((candidate for candidate in usable if candidate not in taken), _with(FALLBACK, secrets.token_hex(10)))


def _valid(name: str) -> str:
    """The name in the characters of usernames; empty if it contains `@`, or if too few characters are left."""
    if "@" in name:
        return ""
    folded = "_".join(map(fold, name[: 4 * LONGEST].split("_")))  # without strokes and ligatures, too: ø, ß
    plain = folded.encode("ascii", "ignore").decode()
    valid = re.sub("[^a-z0-9_]+", "-", plain).strip("-_")[:LONGEST].rstrip("-_")
    return valid if USERNAME.fullmatch(valid) else ""


def _with(name: str, suffix: str) -> str:
    return f"{name[: LONGEST - 1 - len(suffix)]}-{suffix}"
