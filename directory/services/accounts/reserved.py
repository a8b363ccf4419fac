"""Usernames that are refused: they pass for the site, an administrator or a deleted account, or have no letter."""

import re

from sqlalchemy import select

from directory.extensions import db
from directory.models import Role, User

#: As `_reading` returns them: hyphens, underscores and final digits do not change how a name reads.
NAMES = frozenset({
    "abuse", "admin", "administrator", "admins", "anonymous", "api", "contact", "deleted", "help", "helpdesk",
    "hostmaster", "info", "mailerdaemon", "me", "mod", "moderation", "moderator", "moderators", "mods", "noreply",
    "null", "official", "operator", "postmaster", "root", "security", "staff", "superuser", "support", "sysadmin",
    "sysop", "system", "undefined", "webmaster",
})  # fmt: skip
PREFIX = "deleted-"
REFUSAL = "This username is reserved. Choose another one."


def is_reserved(username: str) -> bool:
    """Whether this name is refused, whatever its case: it reads as nothing, a reserved one or an administrator's."""
    name, reading = username.lower(), _reading(username)
    return not reading or reading in NAMES or name.replace("_", "-").startswith(PREFIX) or _reads_as_administrator(name)


def _reads_as_administrator(name: str) -> bool:
    """Whether the name reads as an administrator's other name. The same name is taken, which is another refusal."""
    names = set(db.session.scalars(select(User.username).where(User.role == Role.ADMIN)))
    return name not in names and _reading(name) in map(_reading, names)


def _reading(name: str) -> str:
    return re.sub("[_-]", "", name.lower()).rstrip("0123456789")


def refusals(username: str | None) -> list[dict[str, str]]:
    """The rules that a new username breaks, as the errors of an answer. The operator's commands skip them."""
    if username is None or not is_reserved(username):
        return []
    return [{"pointer": "#/username", "detail": REFUSAL}]
