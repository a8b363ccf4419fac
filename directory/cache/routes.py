"""CacheableRequest reads: which operation the path of an anonymous read asks for, told without a request of Flask's."""

import re
from typing import Any, NamedTuple

from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule

from directory.cache.key import CacheableRequest
from directory.http.converters import ID

ONE_BY_ID = re.compile(r"([^<]*)/<id:\w+>")


class Read(NamedTuple):
    """What makes the answer to a plain read."""

    rule: str
    view: Any
    arguments: dict[str, Any]


class ReadById(NamedTuple):
    """What makes the answer to a plain read of one thing, together with others."""

    rule: str
    view: Any
    id: int


class Reads:
    """The routes that anyone may read, whose answers are data with an ETag."""

    def __init__(self, flask: Flask) -> None:
        self._paths = flask.url_map.bind("")
        views: dict[str, Any] = flask.view_functions
        self._views = {name: view for name, view in views.items() if _is_plain_read(view)}
        self._by_id: dict[str, tuple[str, Any]] = {}
        for rule in flask.url_map.iter_rules():
            view = self._views.get(rule.endpoint)
            if view is not None and view.operation.together is not None:
                self._by_id[_before_id(rule)] = rule.rule, view

    def find(self, plain: CacheableRequest) -> Read | None:
        """The read that is asked for; None where the path names no such."""
        try:
            rule, arguments = self._paths.match(plain.path, method="GET", return_rule=True)
        except HTTPException:
            return None
        view = self._views.get(rule.endpoint)
        return None if view is None else Read(rule.rule, view, dict(arguments))

    def by_id(self, plain: CacheableRequest) -> ReadById | None:
        """The read of one thing and of no more that is asked for: `find` in a fifth of its time; None for any other."""
        before, _, number = plain.path.rpartition("/")
        found = self._by_id.get(before)
        if found is None or plain.query or not ID.fullmatch(number):
            return None
        return ReadById(*found, int(number))


def _before_id(rule: Rule) -> str:
    """What stands before the id that the rule of a read ends with. Raises RuntimeError for any other."""
    found = ONE_BY_ID.fullmatch(rule.rule)
    if found is None or "GET" not in (rule.methods or ()):
        raise RuntimeError(f"{rule} cannot be read together: it is no GET of one thing by an id at its end")
    return found[1]


def _is_plain_read(view: Any) -> bool:
    spec = getattr(view, "operation", None)
    return view.access == "public" and spec is not None and spec.answer is not None and spec.etag
