"""Usernames that cannot be chosen, because they pass for the site itself or for an account that is deleted."""

import re

from sqlalchemy import select

from directory.extensions import db
from directory.models import Role, User

#: As `_read` returns them: hyphens, underscores and digits at the end change nothing of how a name reads.
NAMES = frozenset({
    "abuse", "admin", "administrator", "admins", "anonymous", "api", "contact", "deleted", "help", "helpdesk",
    "hostmaster", "info", "mailerdaemon", "me", "mod", "moderation", "moderator", "moderators", "mods", "noreply",
    "null", "official", "operator", "postmaster", "root", "security", "staff", "superuser", "support", "sysadmin",
    "sysop", "system", "undefined", "webmaster",
})  # fmt: skip
PREFIX = "deleted-"
REFUSAL = "This username is reserved. Choose another one."


def is_reserved(username: str) -> bool:
    """Whether this name is reserved, whatever its case: it reads as a reserved one, or as an administrator's."""
    name, read = username.lower(), _read(username)
    return not read or read in NAMES or name.replace("_", "-").startswith(PREFIX) or _reads_as_administrator(name)


def _reads_as_administrator(name: str) -> bool:
    """Whether the name reads as an administrator's other name. The same name is taken, which is another refusal."""
    names = set(db.session.scalars(select(User.username).where(User.role == Role.ADMIN)))
    return name not in names and _read(name) in map(_read, names)


def _read(name: str) -> str:
    return re.sub("[_-]", "", name.lower()).rstrip("0123456789")


def refusals(username: str | None) -> list[dict[str, str]]:
    """The rules that a new username breaks, as the errors of an answer. The operator's commands skip them."""
    if username is None or not is_reserved(username):
        return []
    return [{"pointer": "#/username", "detail": REFUSAL}]
