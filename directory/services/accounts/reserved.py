"""Usernames that nobody may choose, because they pass for the site itself or for an account that is deleted."""

#: Without hyphens and underscores, which change nothing of how a name reads.
NAMES = frozenset({
    "abuse", "account", "admin", "administrator", "admins", "anonymous", "api", "billing", "bot", "contact",
    "deleted", "everyone", "guest", "help", "helpdesk", "hostmaster", "info", "legal", "mail", "mailerdaemon", "me",
    "mod", "moderation", "moderator", "moderators", "mods", "newsletter", "nobody", "none", "noreply", "null",
    "official", "operator", "owner", "postmaster", "press", "privacy", "reviewer", "reviewers", "root", "sales",
    "security", "self", "service", "site", "staff", "status", "superuser", "support", "sysadmin", "sysop", "system",
    "team", "undefined", "unknown", "user", "webmaster", "www",
})  # fmt: skip
PREFIX = "deleted-"
REFUSAL = "This username is reserved. Choose another one."


def is_reserved(username: str) -> bool:
    """Whether nobody may choose this name, whatever its case."""
    name = username.lower()
    return name.startswith(PREFIX) or name.replace("-", "").replace("_", "") in NAMES


def refusals(username: str | None) -> list[dict[str, str]]:
    """What the rules refuse of a new username, as the errors of an answer. Commands of the operator do not ask."""
    if username is None or not is_reserved(username):
        return []
    return [{"pointer": "#/username", "detail": REFUSAL}]
