"""Signing keys: the first key signs, and signatures of any key are accepted (SECRET_KEY_FALLBACKS)."""

from flask import current_app


def secret_keys() -> tuple[str, ...]:
    """Return SECRET_KEY, and then the keys of SECRET_KEY_FALLBACKS."""
    return (current_app.config["SECRET_KEY"], *current_app.config["SECRET_KEY_FALLBACKS"])
