"""Usernames: those that are refused, and a free one for an account that a provider opens.

Refused are names that pass for the site, an administrator or a deleted account, or have no letter.
"""

import re
import secrets
from collections.abc import Iterable

from sqlalchemy import select

from directory.extensions import db
from directory.language.messages import _
from directory.models import Role, User
from directory.services.text.characters import fold
from directory.services.text.rules import USERNAME

#: As `_reading` returns them: hyphens, underscores and final digits do not change how a name reads.
NAMES = frozenset({
    "abuse", "admin", "administrator", "admins", "anonymous", "api", "contact", "deleted", "help", "helpdesk",
    "hostmaster", "info", "mailerdaemon", "me", "mod", "moderation", "moderator", "moderators", "mods", "noreply",
    "null", "official", "operator", "postmaster", "root", "security", "staff", "superuser", "support", "sysadmin",
    "sysop", "system", "undefined", "webmaster",
})  # fmt: skip
PREFIX = "deleted-"
REFUSAL = _("This username is reserved. Choose another one.")
LONGEST = 32
NUMBERED = 9  # ada-2 to ada-9; after these at random
FALLBACK = "member"


def is_reserved(username: str) -> bool:
    """Whether a username is refused, whatever its case.

    It is refused if it has no letter, begins with `deleted-` or `deleted_`, or reads like a reserved name. It is also
    refused if it reads like an administrator's name and differs from it; the same name is refused as taken, elsewhere.
    """
    name, reading = username.lower(), _reading(username)
    return not reading or reading in NAMES or name.replace("_", "-").startswith(PREFIX) or _reads_as_administrator(name)


def _reads_as_administrator(name: str) -> bool:
    names = set(db.session.scalars(select(User.username).where(User.stored_role == Role.ADMIN)))
    return name not in names and _reading(name) in map(_reading, names)


def _reading(name: str) -> str:
    return re.sub("[_-]", "", name.lower()).rstrip("0123456789")


def refusals(username: str | None) -> list[dict[str, str]]:
    """The rules that a new username breaks, as the errors of an answer. `flask users create-admin` skips them."""
    if username is None or not is_reserved(username):
        return []
    return [{"pointer": "#/username", "detail": REFUSAL}]


def free(names: Iterable[str]) -> str:
    """A free username made from the first of the names that has enough characters of usernames.

    A name that contains `@` is skipped. A name that is taken or reserved gets a suffix. If none of the names can be
    used, such as those that begin with `deleted-`, the username is made from FALLBACK.
    """
    name = next((found for each in names if (found := _valid(each))), "")
    candidates = [*(_with(name, str(n)) if n > 1 else name for n in range(1, NUMBERED + 1))] if name else []
    candidates += [_with(name or FALLBACK, secrets.token_hex(size)) for size in (2, 3, 6)]
    usable = [each for each in candidates if not is_reserved(each)]
    taken = set(db.session.scalars(select(User.username).where(User.username.in_(usable))))
    return next((each for each in usable if each not in taken), _with(FALLBACK, secrets.token_hex(10)))


def _valid(name: str) -> str:
    """The name in the characters of usernames; empty if it contains `@`, or if too few characters are left."""
    if "@" in name:
        return ""
    folded = "_".join(map(fold, name[: 4 * LONGEST].split("_")))  # without strokes and ligatures, too: ø, ß
    plain = folded.encode("ascii", "ignore").decode()
    found = re.sub("[^a-z0-9_]+", "-", plain).strip("-_")[:LONGEST].rstrip("-_")
    return found if USERNAME.fullmatch(found) else ""


def _with(name: str, suffix: str) -> str:
    return f"{name[: LONGEST - 1 - len(suffix)]}-{suffix}"
