"""Usernames that cannot be chosen, because they pass for the site itself or for an account that is deleted."""

#: Without hyphens and underscores, which change nothing of how a name reads.
NAMES = frozenset({
    "abuse", "admin", "administrator", "admins", "anonymous", "api", "contact", "deleted", "help", "helpdesk",
    "hostmaster", "info", "mailerdaemon", "me", "mod", "moderation", "moderator", "moderators", "mods", "noreply",
    "null", "official", "operator", "postmaster", "root", "security", "staff", "superuser", "support", "sysadmin",
    "sysop", "system", "undefined", "webmaster",
})  # fmt: skip
PREFIX = "deleted-"
REFUSAL = "This username is reserved. Choose another one."


def is_reserved(username: str) -> bool:
    """Whether this name is reserved, whatever its case."""
    name = username.lower()
    return name.replace("_", "-").startswith(PREFIX) or name.replace("-", "").replace("_", "") in NAMES


def refusals(username: str | None) -> list[dict[str, str]]:
    """What the rules refuse of a new username, as the errors of an answer. Commands of the operator do not ask."""
    if username is None or not is_reserved(username):
        return []
    return [{"pointer": "#/username", "detail": REFUSAL}]
