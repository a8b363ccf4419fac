"""Parses the query string of a request, and ignores nothing silently."""

import re
from urllib.parse import unquote_to_bytes

from directory.errors import Invalid
from directory.http.request_body import printable

PARAMETERS_MAX = 30

_BAD_PERCENT = re.compile(b"%(?![0-9A-Fa-f]{2})")


def read_query(query_string: bytes) -> dict[str, str]:
    """The query parameters by name. Raises Invalid if one is repeated, has no name or is not UTF-8."""
    parameters: dict[str, str] = {}
    for pair in filter(None, query_string.split(b"&")):
        raw_name, _, raw_value = pair.partition(b"=")
        name = _parameter_name(raw_name)
        if name in parameters:
            raise Invalid.parameter(name, "Must be given once.")
        if len(parameters) == PARAMETERS_MAX:
            raise Invalid.parameter(name, f"There must be at most {PARAMETERS_MAX} parameters.")
        try:
            parameters[name] = _unquote(raw_value)
        except ValueError as error:
            raise Invalid.parameter(name, str(error)) from None
    return parameters


def read_loosely(query_string: bytes) -> dict[str, str]:
    """The query parameters of a page by name: the first of each name, without those that cannot be parsed."""
    parameters: dict[str, str] = {}
    for pair in query_string.split(b"&")[:PARAMETERS_MAX]:
        try:
            name, value = (_unquote(each) for each in pair.partition(b"=")[::2])
        except ValueError:
            continue
        if name:
            parameters.setdefault(name, value)
    return parameters


def _parameter_name(raw: bytes) -> str:
    """A parameter's name, which is safe to send back. Raises Invalid if no route can have it."""
    try:
        name = _unquote(raw)
    except ValueError as error:
        raise Invalid.parameter(printable(raw.decode("utf-8", "replace")), str(error)) from None
    if not name:
        raise Invalid.parameter("", "Must have a name.")
    if name != printable(name):
        raise Invalid.parameter(printable(name), "There is no such parameter.")
    return name


def _unquote(raw: bytes) -> str:
    """The decoded text of a name or a value in a query string. Raises ValueError if it is not valid."""
    if _BAD_PERCENT.search(raw):
        raise ValueError("Must write % as %25.")
    try:
        return unquote_to_bytes(raw.replace(b"+", b" ")).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("Must be UTF-8.") from None
