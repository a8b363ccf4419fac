"""Reads the body of a request, and ignores nothing silently."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from flask import request
from werkzeug.exceptions import RequestEntityTooLarge

from directory.errors import Invalid, MalformedJson, TooLarge, UnsupportedMediaType
from directory.http import multipart
from directory.http.multipart import FormContent
from directory.language.messages import _

BODY_MAX, UPLOAD_MAX, PICTURE_MAX = 65_536, 2**20, 2**22
# The requests whose bodies may be larger, by method and path. A form's limit is larger than that of its file, so that
# its texts are read even if the file is too large.
LARGER = {
    re.compile("PUT /api/projects/[0-9]{1,19}/logo"): UPLOAD_MAX,
    re.compile("POST /api/projects/[0-9]{1,19}/pictures"): PICTURE_MAX,
    re.compile("POST (/submit(/fill)?|/mine/[0-9]{1,19}/edit)"): 2 * UPLOAD_MAX,
    re.compile("POST /mine/[0-9]{1,19}/pictures"): PICTURE_MAX + UPLOAD_MAX,
}
DEPTH_MAX = 32
DIGITS_MAX = 4_300
_NAME_MAX = 64
JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
FIELDS_MAX = 30

_SURROGATE = re.compile("[\ud800-\udfff]")
# A whole string, so that brackets inside it do not count, or one bracket outside of strings.
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_DEEPER = {"[": 1, "{": 1, "]": -1, "}": -1}


def read_json(*, required: bool) -> tuple[Any, list[dict[str, str]]]:
    """The body as JSON, with an error for each lone surrogate; None for an empty body, if it is not `required`.

    The errors are returned, not raised, so that the answer can also report other errors of the body.
    """
    data = _read_body()
    if not data and not required:
        return None, []
    _require_type(JSON)
    value, errors = _parse(data)
    if value is None:
        # No route takes null, and None would mean that there was no body.
        raise Invalid([{"pointer": pointer([]), "detail": _("Must be an object.")}])
    return value, errors


def read_form() -> FormContent:
    """The content of an HTML form, in its order. Raises Invalid, TooLarge, UnsupportedMediaType."""
    data = _read_body(body_max(request.method, request.path))
    content_type = request.headers.get("Content-Type", "")
    is_multipart = content_type.partition(";")[0].strip(" \t").lower() == MULTIPART
    if not data:
        return FormContent()
    if is_multipart:
        _require_no_coding()
    else:
        _require_type(FORM)
    try:
        if is_multipart:
            content = multipart.decode(data, content_type)
        else:
            text = data.decode("ascii")
            content = FormContent(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX))
    except (ValueError, RequestEntityTooLarge):
        raise Invalid([{"pointer": pointer([]), "detail": _("The form cannot be read.")}]) from None
    if sum(len(name) + len(value) for name, value in content.fields) > BODY_MAX:
        raise TooLarge
    return content


def read_upload(media_types: Sequence[str]) -> bytes:
    """The body, of one of the media types. Raises TooLarge, UnsupportedMediaType, MalformedJson if it is incomplete."""
    media_type = request.headers.get("Content-Type", "").strip(" \t").lower()
    most = body_max(request.method, request.path)
    try:
        data = _read_body(most)
    except TooLarge:
        raise TooLarge(_("This is too large: at most {number} KiB can be sent.", number=f"{most // 1024:,}")) from None
    if media_type not in media_types:
        raise UnsupportedMediaType(
            _("Send the body as {types} or {last}.", types=", ".join(media_types[:-1]), last=media_types[-1])
        )
    _require_no_coding()
    return data


def body_max(method: str, path: str) -> int:
    """The limit of a request's body in bytes."""
    if method not in {"POST", "PUT"}:
        return BODY_MAX
    return next((most for known, most in LARGER.items() if known.fullmatch(f"{method} {path}")), BODY_MAX)


def parse_json(data: bytes) -> Any:
    """The value of a JSON text. Raises MalformedJson, and Invalid if it contains a lone surrogate."""
    value, errors = _parse(data)
    if errors:
        raise Invalid(errors)
    return value


def _parse(data: bytes) -> tuple[Any, list[dict[str, str]]]:
    """The value of a JSON text, and an error for each lone surrogate in it. Raises MalformedJson."""
    try:
        text = data.decode("utf-8-sig")  # it ignores a byte order mark, as RFC 8259 section 8.1 allows
    except UnicodeDecodeError as error:
        raise MalformedJson(_("The body is not UTF-8 at byte {number}.", number=error.start)) from None
    depth = 0
    for match in _BRACKETS.finditer(text):  # before the parser, which is recursive
        depth += _DEEPER.get(match[0], 0)
        if depth > DEPTH_MAX:
            raise MalformedJson(_("The body nests deeper than {number} levels.", number=DEPTH_MAX))
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = {"line": error.lineno, "column": error.colno}
        raise MalformedJson(_("The body is not well-formed JSON at line {line}, column {column}.", **where)) from None
    # UTF-8 has no surrogates, so only an escape can add one.
    return value, list(_lone_surrogates(value, [])) if "\\u" in text else []


def pointer(path: Sequence[str | int]) -> str:
    """The JSON Pointer (RFC 6901) to a place in the body (`#` is the whole), safe to send back."""
    return "#" + "".join(f"/{printable(str(step)).replace('~', '~0').replace('/', '~1')}" for step in path)


def _read_body(most: int = BODY_MAX) -> bytes:
    """The bytes of the body; no more than the limit is ever in memory.

    Werkzeug's own limit, MAX_CONTENT_LENGTH, stays unset: of a longer chunked body it returns the part within the
    limit, without an error (`LimitedStream.readall` in 3.1.9).
    """
    if is_absent(request.environ):
        return b""
    declared = request.content_length
    if declared is not None and declared > most:
        raise TooLarge
    body = bytearray()
    try:
        # One byte more than the limit is read: only its absence shows that a chunked body ends there.
        while len(body) <= most and (chunk := request.stream.read(most + 1 - len(body))):
            body += chunk
    except Exception as error:
        # Every server has its own exceptions for a closed connection or a malformed chunk (gunicorn's derive only from
        # Exception); all of them mean that the client did not send a whole body.
        raise MalformedJson(_("The body broke off before its end.")) from error
    if len(body) > most:
        raise TooLarge
    if len(body) < (declared or 0):
        raise MalformedJson(_("The body ended before its Content-Length."))
    return bytes(body)


def is_absent(environ: dict[str, Any]) -> bool:
    """Whether the request certainly has no body: HTTP/1 would have to announce one (RFC 9112 section 6.3)."""
    if "HTTP_TRANSFER_ENCODING" in environ or not environ["SERVER_PROTOCOL"].startswith("HTTP/1."):
        return False
    return bool(environ.get("CONTENT_LENGTH", "0") == "0")


def _require_type(wanted: str) -> None:
    """Raise UnsupportedMediaType unless the Content-Type is the wanted one, in UTF-8."""
    # By hand, because Werkzeug's parser drops parameters that it cannot parse, and all but one of repeated ones.
    media, *parameters = request.headers.get("Content-Type", "").split(";")
    if media.strip(" \t").lower() != wanted:
        raise UnsupportedMediaType(_("Send the body as {wanted}.", wanted=wanted))
    if any(parameter.strip(" \t").lower() not in ("", "charset=utf-8", 'charset="utf-8"') for parameter in parameters):
        raise UnsupportedMediaType(_("Send {wanted} with no other parameter than charset=utf-8.", wanted=wanted))
    _require_no_coding()


def _require_no_coding() -> None:
    if request.headers.get("Content-Encoding", "identity").strip(" \t").lower() not in ("", "identity"):
        raise UnsupportedMediaType(_("Send the body without a Content-Encoding."))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise MalformedJson(_('The body names "{name}" twice in one object.', name=printable(name)))
        members[name] = value
    return members


def _constant(name: str) -> NoReturn:
    raise MalformedJson(_("The body contains {name}, which is not valid JSON.", name=name))


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise MalformedJson(_("The body holds a number that is too large."))
    return number


def _integer(text: str) -> int:
    # `int` takes quadratic time; its own limit depends on how the interpreter was started.
    if len(text.lstrip("-")) > DIGITS_MAX:
        raise MalformedJson(_("The body holds a number that is too large."))
    return int(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer)


def _lone_surrogates(value: Any, path: list[str | int]) -> Iterator[dict[str, str]]:
    """An error for each string, including names of members, that contains half of a surrogate pair."""
    if isinstance(value, str) and _SURROGATE.search(value):
        yield {"pointer": pointer(path), "detail": _("Must not contain half of a surrogate pair.")}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _lone_surrogates(item, [*path, index])
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _lone_surrogates(name, [*path, name])
            yield from _lone_surrogates(item, [*path, name])


def printable(name: str) -> str:
    """A client's name, shortened and printable, safe to send back and to log."""
    short = name if len(name) <= _NAME_MAX else name[:_NAME_MAX] + "…"
    return "".join(char if char.isprintable() else "?" for char in short)
