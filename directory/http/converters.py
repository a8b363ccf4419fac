"""Routing: the converters of ids, slugs and usernames."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask
from flask.sessions import SessionInterface
from werkzeug.routing import BaseConverter, IntegerConverter

from directory.language.templates import TranslatedEnvironment
from directory.models.base import HIGHEST_ID
from directory.services.text.rules import CATEGORY_SLUG_MAX, SLUG, USERNAME


def _numbers_to(highest: int) -> str:
    """A regular expression of the positive integers up to `highest`.

    The expression contains the whole rule: if the converter refused a value later, the path would count as known, and
    other methods would be answered with 405.
    """
    digits = str(highest)
    below = [
        f"{digits[:place]}[{int(place == 0)}-{int(digit) - 1}][0-9]{{{len(digits) - place - 1}}}"
        for place, digit in enumerate(digits)
        if int(digit) > int(place == 0)
    ]
    shorter = f"[1-9][0-9]{{0,{len(digits) - 2}}}"
    return f"(?:{'|'.join([shorter, *below, digits])})"


ID = re.compile(_numbers_to(HIGHEST_ID))


class IdConverter(IntegerConverter):
    """A positive integer of 63 bits; a path with anything else is unknown, for every method."""

    regex = ID.pattern


class SlugConverter(BaseConverter):
    """A category's slug; the database is not asked for impossible ones."""

    regex = f"(?![a-z0-9-]{{{CATEGORY_SLUG_MAX + 1}}}){SLUG.pattern}"


class UsernameConverter(BaseConverter):
    """A username; the database is not asked for impossible ones."""

    regex = USERNAME.pattern


class FieldConverter(BaseConverter):
    """The name of an own field; the database is not asked for impossible ones."""

    regex = "(?!order(?:/|$))[a-z][a-z0-9_]{0,31}"


class NoSession(SessionInterface):
    """Switches off Flask's own session in a signed cookie: our sessions are rows."""

    def open_session(self, app: Flask, request: object) -> None:
        """None: Flask has an empty session for libraries that read it, and stores nothing."""


class Synchronous(Flask):
    """A Flask app of synchronous functions alone: it skips the check for others before each call."""

    jinja_environment = TranslatedEnvironment

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is."""
        return func


def init_app(app: Flask) -> None:
    """Configure the routing of an application."""
    app.session_interface = NoSession()
    app.url_map.converters |= {
        "id": IdConverter,
        "slug": SlugConverter,
        "username": UsernameConverter,
        "field": FieldConverter,
    }
    app.url_map.merge_slashes = False
    app.url_map.strict_slashes = True


@contextmanager
def hookless(app: Flask) -> Iterator[None]:
    """Bind an extension without its hooks on every request: we call it explicitly."""
    before, after = list(app.before_request_funcs[None]), list(app.after_request_funcs[None])
    yield
    app.before_request_funcs[None][:] = before
    app.after_request_funcs[None][:] = after
