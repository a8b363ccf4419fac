"""Usernames that are refused: they pass for the site, an administrator or a deleted account, or have no letter."""

import re

from sqlalchemy import select

from directory.extensions import db
from directory.language.messages import _
from directory.models import Role, User

#: As `_reading` returns them: hyphens, underscores and final digits do not change how a name reads.
NAMES = frozenset({
    "abuse", "admin", "administrator", "admins", "anonymous", "api", "contact", "deleted", "help", "helpdesk",
    "hostmaster", "info", "mailerdaemon", "me", "mod", "moderation", "moderator", "moderators", "mods", "noreply",
    "null", "official", "operator", "postmaster", "root", "security", "staff", "superuser", "support", "sysadmin",
    "sysop", "system", "undefined", "webmaster",
})  # fmt: skip
PREFIX = "deleted-"
REFUSAL = _("This username is reserved. Choose another one.")


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
