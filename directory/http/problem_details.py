"""Error answers, all in the form of RFC 9457."""

import logging
from http import HTTPStatus
from typing import Any

import orjson
from flask import Flask, Response, request
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException

from directory.db.errors import FULL, cause_of, is_unavailable, state_of
from directory.errors import (
    DirectoryError,
    NotFound,
    RateLimited,
    TooLarge,
    Unavailable,
    UnsupportedMediaType,
    WrongPassword,
)
from directory.http import languages
from directory.http.client import client_address
from directory.http.exchange import current, request_id
from directory.http.headers import AnswerHeaders, Facts
from directory.http.problem_kinds import KINDS
from directory.http.wsgi import Answer
from directory.language.catalogues import ENGLISH, Catalogue
from directory.language.messages import _

NO_SPACE = _("The disk of the database is full, so nothing can be changed. What is there can be read.")
log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
WITHOUT_APPLICATION = AnswerHeaders()
# Logged with the caller's address and the account whose password was tried; the request's line, with the same id, has
# the rest.
REFUSALS = {
    "unauthenticated", "invalid_credentials", "account_suspended", "not_owner", "admin_required", "passkey_required",
    "email_not_verified", "cross_site_request", "registration_closed", "rate_limited", "sign_in_cancelled",
    "sign_in_expired", "sign_in_refused", "sign_in_again", "address_taken", "identity_taken", "provider_failed",
    "provider_unavailable",
}  # fmt: skip


def init_app(app: Flask) -> None:
    """Answer every exception with a problem."""
    app.register_error_handler(Exception, of)


def of(error: Exception) -> Response:
    """The response to any error."""
    if isinstance(error, DirectoryError):
        return answer(error)
    if isinstance(error, HTTPException):
        return of_framework(error)
    return _database(error) if isinstance(error, SQLAlchemyError) else _internal(error)


def answer(error: DirectoryError) -> Response:
    """The response to a domain error."""
    kind, exchange = KINDS[error.code], current()
    if error.code in REFUSALS or isinstance(error, WrongPassword):
        who = {"address": client_address(), "account_id": exchange.account_id}
        why = {"reason": error.extra["reason"]} if "reason" in error.extra else {}
        if isinstance(error, RateLimited):
            why = {"tier": error.tier}
        log.info("refused", extra={"code": error.code, **who, **why})
    language = languages.of_exchange(exchange)
    problem = {**body(error.code, kind.status, error.detail, exchange.id, language), **_said(error.extra, language)}
    response = Response(orjson.dumps(problem), status=kind.status, content_type=MEDIA_TYPE)
    if kind.status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="directory"'
    site = languages.of_app()
    if site.named:
        response.headers["Content-Language"] = language.tag
    if site.several:
        response.vary.add(languages.HEADER)
    wait = getattr(error, "retry_after", None)
    if wait is not None:
        response.headers["Retry-After"] = str(wait)
    return response


def _said(extra: dict[str, Any], language: Catalogue) -> dict[str, Any]:
    """Further members of a problem, with the details of its errors in a language."""
    if "errors" not in extra:
        return extra
    return {**extra, "errors": [{**error, "detail": language.say(error["detail"])} for error in extra["errors"]]}


def body(code: str, status: int, detail: str, identity: str | None, language: Catalogue = ENGLISH) -> dict[str, Any]:
    """The members that every problem has, its texts in a language."""
    return {
        "type": f"/api/problems/{code}",
        "title": language.say(KINDS[code].title),
        "status": status,
        "detail": language.say(detail),
        "code": code,
        "request_id": identity,
    }


def without_request(status: int, detail: str) -> Answer:
    """The response of a server to bytes that are not a valid request, to one too many, or to its own failure."""
    identity = request_id("")
    log.info("refused", extra={"status": status, "reason": detail, "request_id": identity})
    code = {500: "internal", 503: "unavailable"}.get(status, "bad_request")
    content = orjson.dumps(body(code, status, detail, identity))
    own = [("Content-Type", MEDIA_TYPE), ("Content-Length", str(len(content)))]
    if status == 503:
        own.append(("Retry-After", str(Unavailable.retry_after)))
    whole = WITHOUT_APPLICATION.complete(own, status, Facts("", "", "http", identity, is_constant=True))
    return Answer(f"{status} {HTTPStatus(status).phrase.upper()}", whole, content)


def of_framework(error: HTTPException) -> Response:
    """Errors of the framework and libraries, in our form."""
    if error.code == 405:
        response = answer(_coded("method_not_allowed", _("{method} is not taken here.", method=request.method)))
        response.headers["Allow"] = ", ".join(sorted(getattr(error, "valid_methods", None) or ()))
        return response
    simple = {404: NotFound, 413: TooLarge, 415: UnsupportedMediaType, 503: Unavailable}
    if error.code in simple:
        return answer(simple[error.code]())
    if error.code is not None and 400 <= error.code < 500:
        return answer(_coded("bad_request", _("The request could not be understood.")))
    return _internal(error)


def _database(error: SQLAlchemyError) -> Response:
    if not is_unavailable(error):
        return _internal(error)
    # The driver's text may contain values and addresses, so only the cause is logged.
    log.warning("database unavailable", extra={"reason": cause_of(error), "state": state_of(error)})
    return answer(Unavailable(NO_SPACE) if state_of(error) in FULL else Unavailable())


def _internal(error: Exception) -> Response:
    log.error("unhandled exception", exc_info=error)
    return answer(DirectoryError(_("The service failed. Quote the request_id when you report it.")))


def _coded(code: str, detail: str) -> DirectoryError:
    error: Any = DirectoryError(detail)
    error.code = code
    return error  # type: ignore[no-any-return]
