"""The flask command's own commands."""

from flask import Flask


def init_app(app: Flask) -> None:
    """Add the commands."""
