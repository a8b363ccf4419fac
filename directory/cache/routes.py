"""Finds the route of a read without a Flask request, if it is one whose responses the cache can make."""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule

from directory.cache.reads import Read
from directory.http.converters import ID
from directory.http.languages import API, PARAMETER, in_query, of_app
from directory.http.validation import PARAMETERS_MAX, read_loosely
from directory.services.catalog import own_filters

KNOWN_MAX = 256  # addresses whose known part is remembered
ENDS_WITH_ID = re.compile(r"([^<]*)/<id:\w+>")


class Match(NamedTuple):
    """The route of a request: its rule, its view, and the arguments from the path."""

    rule: str
    view: Any
    arguments: dict[str, Any]


class MatchById(NamedTuple):
    """The route of a request for one object. One statement can read the objects of several such requests."""

    rule: str
    view: Any
    id: int


class CacheableRoutes:
    """The public routes whose responses are data or a page, with an ETag."""

    def __init__(self, flask: Flask) -> None:
        self._urls, self._languages = flask.url_map.bind(""), of_app(flask)
        self._known_part = lru_cache(KNOWN_MAX)(self._without_unknown)
        views: dict[str, Any] = flask.view_functions
        self._views = {name: view for name, view in views.items() if _is_cacheable(view)}
        self._by_id: dict[str, tuple[str, Any]] = {}
        self._first_words = {"api"}
        for rule in flask.url_map.iter_rules():
            view = self._views.get(rule.endpoint)
            if view is None:
                continue
            self._first_words.add(rule.rule.split("/", 2)[1])
            if view.operation.cache.load_many is not None:
                self._by_id[_path_before_id(rule)] = rule.rule, view

    def asked(self, read: Read) -> Read:
        """The read without the parameters that its page passes over, so that one response serves all of them."""
        if not read.query or read.path.startswith(API):
            return read
        return read._replace(query=self._known_part(read.path, read.query))

    def _without_unknown(self, path: str, query: str) -> str:
        """The part of a query that the answer of a page depends on: the first of each parameter, as it is written."""
        match = self.find(path)
        known: bool | frozenset[str] = match is None or match.view.operation.parameters
        if known is True:
            return query
        names = (known or frozenset()) | ({PARAMETER} if in_query(self._languages, query) else frozenset())
        kept: dict[str, str] = {}
        for pair in query.split("&")[:PARAMETERS_MAX]:
            for name, value in read_loosely(pair.encode("latin-1")).items():
                is_own = name.startswith(own_filters.PARAMETER) and own_filters.PARAMETER in names
                if (name in names or is_own) and (value or name != PARAMETER):
                    kept.setdefault(name, pair)
        return "&".join(kept.values())

    def covers(self, path: str) -> bool:
        """Whether a path may belong to a cacheable route, by its first word; any path of the API may."""
        return path.startswith("/") and path.split("/", 2)[1] in self._first_words

    def find(self, path: str) -> Match | None:
        """The route of a path; None where no such route has it."""
        try:
            rule, arguments = self._urls.match(path, method="GET", return_rule=True)
        except HTTPException:
            return None
        view = self._views.get(rule.endpoint)
        return None if view is None else Match(rule.rule, view, dict(arguments))

    def find_by_id(self, request: Read) -> MatchById | None:
        """The route of a request for one object, in a fifth of the time that `find` takes; None for any other."""
        path, _, number = request.path.rpartition("/")
        route = self._by_id.get(path)
        if route is None or request.query or not ID.fullmatch(number):
            return None
        return MatchById(*route, int(number))


def _path_before_id(rule: Rule) -> str:
    """The path before the id at the end of a rule. Raises RuntimeError if the rule is not a GET that ends with one."""
    match = ENDS_WITH_ID.fullmatch(rule.rule)
    if match is None or "GET" not in (rule.methods or ()):
        raise RuntimeError(f"{rule} has load_many, but is not a GET of one object by an id at its end")
    return match[1]


def _is_cacheable(view: Any) -> bool:
    spec = getattr(view, "operation", None)
    return view.access == "public" and spec is not None and spec.etag and (spec.page or spec.answer is not None)
