"""Validates a request's query parameters and body, ignores nothing silently, and reports all errors in one answer."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from marshmallow import Schema, ValidationError

from directory.errors import Invalid
from directory.http import write_checks
from directory.http.exchange import Exchange, current
from directory.http.fields import Flag, Strict
from directory.http.request_body import is_absent, pointer, printable, read_form, read_json, read_upload
from directory.http.serialization import query_of
from directory.language.messages import _
from directory.services.catalog.fields import OWN_FIELDS, PREFIX

PARAMETERS_MAX = 30
_BAD_PERCENT = re.compile(b"%(?![0-9A-Fa-f]{2})")

Errors = list[dict[str, str]]
Check = Callable[[dict[str, Any]], Errors]


# What marshmallow says itself, to be translated as our own messages are.
LIBRARY: dict[str, str] = {
    message: message
    for message in (
        _("Missing data for required field."), _("Field may not be null."), _("Unknown field."), _("Not a string."),
        _("Not a valid string."), _("Not a valid integer."), _("Not a valid boolean."), _("Not a valid list."),
        _("Invalid input type."), _("Not a valid mapping type."), _("Invalid value."),
        _("An id is a positive whole number."),
    )
}  # fmt: skip


class Nothing(Strict):
    """No parameters, or an empty object."""


NOTHING = Nothing()


def checked_query(schema: Schema, exchange: Exchange) -> dict[str, Any]:
    """The parameters as the view's `query`; unknown ones are refused. Raises Invalid."""
    if schema is NOTHING and not exchange.query:
        return {}
    parameters = exchange.parameters = exchange.parameters or read_query(exchange.query.encode("latin-1"))
    try:
        loaded = query_of(schema).load(parameters)
    except ValidationError as error:
        raise Invalid([{"parameter": pointer(place)[2:], "detail": d} for place, d in _flat(error.messages)]) from None
    return {} if schema is NOTHING else {"query": loaded}


def read_query(query_string: bytes) -> dict[str, str]:
    """The query parameters by name. Raises Invalid if one is repeated, has no name or is not UTF-8."""
    parameters: dict[str, str] = {}
    for pair in filter(None, query_string.split(b"&")):
        raw_name, _equals, raw_value = pair.partition(b"=")
        name = _parameter_name(raw_name)
        if name in parameters:
            raise Invalid.parameter(name, _("Must be given once."))
        if len(parameters) == PARAMETERS_MAX:
            raise Invalid.parameter(name, _("There must be at most {number} parameters.", number=PARAMETERS_MAX))
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
            name, value = (_unquote(part) for part in pair.partition(b"=")[::2])
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
        raise Invalid.parameter("", _("Must have a name."))
    if name != printable(name):
        raise Invalid.parameter(printable(name), _("There is no such parameter."))
    return name


def _unquote(raw: bytes) -> str:
    """The decoded text of a name or a value in a query string. Raises ValueError if it is not valid."""
    if _BAD_PERCENT.search(raw):
        raise ValueError(_("Must write % as %25."))
    try:
        return unquote_to_bytes(raw.replace(b"+", b" ")).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(_("Must be UTF-8.")) from None


class Body:
    """The body of a request. The base class accepts any body: it is not read, and the view does not get it.

    `check` returns the rules' errors for the members that the schema accepts. The answer reports them together with the
    schema's errors, so that one answer is enough to correct a form.
    """

    schema: Schema = NOTHING
    check: Check | None = None

    def arguments(self, exchange: Exchange) -> dict[str, Any]:
        """Read and validate the body of the current request, and return the view's arguments."""
        return {}


@dataclass(frozen=True)
class JsonBody(Body):
    """A JSON object as the view's `body`. If it is `optional`, no body means an empty object."""

    schema: Schema
    check: Check | None = None
    optional: bool = False

    def arguments(self, exchange: Exchange) -> dict[str, Any]:
        """Raises Invalid, MalformedJson, TooLarge, UnsupportedMediaType."""
        if self.optional and is_absent(exchange.environ):
            return {} if self.schema is NOTHING else _loaded(self, {}, [])
        values, refused = read_json(required=not self.optional)
        if values is None:
            values = {}
        if not isinstance(values, dict):
            raise Invalid([{"pointer": "#", "detail": _("The body must be an object.")}])
        return _loaded(self, values, refused)


@dataclass(frozen=True)
class FormBody(Body):
    """The fields of an HTML form as the view's `body`, with the same schema and rules as a JSON body.

    A form sends every field: a blank one counts as absent, and a ticked box as true. Those of own fields are one object
    of texts, with the blank ones. `files` are the fields that take a file.
    """

    schema: Schema
    check: Check | None = None
    files: tuple[str, ...] = ()

    def arguments(self, exchange: Exchange) -> dict[str, Any]:
        """Raises Invalid, TooLarge, UnsupportedMediaType, OtherUser."""
        fields = take_form()
        write_checks.refuse_other_user(exchange.aside.get(EXPECTED_USER))
        own = {name: value for name, value in fields if name.startswith(PREFIX)}
        values: dict[str, Any] = {name: value for name, value in fields if value and name not in {*own, OWN_FIELDS}}
        values |= {OWN_FIELDS: own} if own else {}
        for name in values:
            if isinstance(self.schema.fields.get(name), Flag):
                values[name] = True
        names = [name for name, _value in fields]
        repeated = dict.fromkeys(name for name in names if names.count(name) > 1)
        refused = [{"pointer": pointer([name]), "detail": _("Must be given once.")} for name in repeated]
        if not {*self.files} >= {*exchange.files}:
            refused.append({"pointer": pointer([]), "detail": _("A file was sent in a field that takes none.")})
        return _loaded(self, values, refused)


EXPECTED_USER, KEPT = "expected_user", "kept"
ASIDE = (EXPECTED_USER, KEPT)  # fields that any form may have: the account that it shows, and what another form had


def take_form() -> list[tuple[str, str]]:
    """The fields of the form, without those of ASIDE. Raises Invalid, TooLarge, UnsupportedMediaType.

    They stay in the exchange as `typed`, so that a refusal can show them, those of ASIDE as `aside`, and the chosen
    files as `files`. All three are empty if the form cannot be read.
    """
    exchange = current()
    exchange.typed, exchange.aside, exchange.files = {}, {}, {}
    content = read_form()
    exchange.files = content.files
    exchange.aside = {name: value for name, value in content.fields if name in ASIDE}
    fields = [(name, value) for name, value in content.fields if name not in ASIDE]
    exchange.typed = dict(fields)
    return fields


@dataclass(frozen=True)
class Upload(Body):
    """A file as the view's `content`: of one of the media types, and of at most as many bytes as its path may have."""

    media_types: tuple[str, ...]

    def arguments(self, exchange: Exchange) -> dict[str, Any]:
        """Raises MalformedJson, TooLarge, UnsupportedMediaType."""
        return {"content": read_upload(self.media_types)}


UNREAD, NO_BODY = Body(), JsonBody(NOTHING, optional=True)


def _loaded(body: Body, values: dict[str, Any], refused: Errors) -> dict[str, Any]:
    """A body, validated by the schema and the rules. Raises Invalid with all errors, of each place the first ones."""
    found: Errors = []
    try:
        loaded: dict[str, Any] = body.schema.load(values)
    except ValidationError as error:
        loaded = error.valid_data  # type: ignore[assignment]
        found = errors_of(error)
    for errors in (found, [] if body.check is None else body.check(loaded)):
        known = {error["pointer"] for error in refused}
        refused += [error for error in errors if error["pointer"] not in known]
    if refused:
        raise Invalid(refused)
    return {} if body.schema is NOTHING else {"body": loaded}


def errors_of(error: ValidationError) -> Errors:
    """The errors that a schema found in a body."""
    return [{"pointer": pointer(place), "detail": detail} for place, detail in _flat(error.messages)]


def _flat(messages: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], str]]:
    """Marshmallow's tree of messages as a list of places and details.

    Unknown names come last and sorted: marshmallow has them in the order of a set, which differs between processes.
    """
    if isinstance(messages, dict):
        unknown = [NOTHING.error_messages["unknown"]]
        return [
            error
            for step, below in sorted(messages.items(), key=lambda item: str(item[0]) if item[1] == unknown else "")
            for error in _flat(below, (*path, step) if step != "_schema" else path)
        ]
    return [(path, LIBRARY.get(message, str(message))) for message in messages]
