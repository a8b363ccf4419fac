"""The keys that sign: the first one signs, and a signature by any of them is accepted (SECRET_KEY_FALLBACKS)."""

from flask import current_app


def secret_keys() -> tuple[str, ...]:
    """Return SECRET_KEY, and after it the keys that an operator is replacing or about to use."""
    return (current_app.config["SECRET_KEY"], *current_app.config["SECRET_KEY_FALLBACKS"])
