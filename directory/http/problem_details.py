"""The one error shape, RFC 9457, and what each code means."""

import logging
from dataclasses import dataclass
from typing import Any

import orjson
from flask import Flask, Response, g, request
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException

from directory.db.errors import is_unavailable, state_of
from directory.errors import (
    DirectoryError,
    NotFound,
    RateLimited,
    TooLarge,
    Unavailable,
    UnsupportedMediaType,
    WrongPassword,
)
from directory.http.client_address import client_address
from directory.http.rate_limits import retry_after

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
# Logged with the caller's address and with the account at whose password was guessed; the request's own line, under
# the same id, says the rest.
REFUSALS = {
    "unauthenticated", "invalid_credentials", "account_suspended", "not_owner", "admin_required",
    "email_not_verified", "cross_site_request", "registration_closed", "rate_limited",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its status, its title, and what its page says."""

    status: int
    title: str
    meaning: str


KINDS = {
    "malformed_json": Kind(
        400,
        "Malformed JSON",
        "The body could not be read as JSON: a syntax error, bytes that are not UTF-8, a key that stands there twice, "
        "NaN or Infinity, or more than 32 levels of nesting.",
    ),
    "bad_request": Kind(400, "Bad request", "The request itself, before its body, could not be understood."),
    "unauthenticated": Kind(
        401,
        "Not signed in",
        "The route needs a caller, and the request carried no credentials, or some that have expired or been revoked. "
        "A bearer token that does not hold is refused on every route.",
    ),
    "invalid_credentials": Kind(
        401,
        "Wrong login or password",
        "No account has this login with this password; the answer does not say which of the two is wrong. After "
        "several wrong passwords within minutes the right one gets this answer too, by each name of the account.",
    ),
    "not_owner": Kind(
        403, "Not the owner", "The project belongs to somebody else; its owner and administrators may change it."
    ),
    "admin_required": Kind(403, "Administrators only", "Everything under /api/admin is for administrators."),
    "account_suspended": Kind(
        403, "Account suspended", "The password was right, but an administrator has suspended the account."
    ),
    "email_not_verified": Kind(
        403,
        "Address not confirmed",
        "This service takes submissions, or submissions and votes, of members with a confirmed e-mail address alone. A "
        "link is mailed at registration; POST /api/auth/email/verification has it mailed again.",
    ),
    "cross_site_request": Kind(
        403,
        "Cross-site request",
        "A page of another origin caused this write. Writes are taken from the service's own origin, from the origins "
        "it is configured to trust, and from programs that send a bearer token. A program with a cookie has to send "
        "the service's own address in Origin.",
    ),
    "registration_closed": Kind(403, "Registration closed", "This directory takes no new accounts at present."),
    "not_found": Kind(404, "Not found", "There is nothing at this address, or nothing that the caller may know of."),
    "method_not_allowed": Kind(
        405, "Method not allowed", "The address exists, but does not take this method. Allow lists those that it takes."
    ),
    "invalid_transition": Kind(
        409,
        "Not possible in this state",
        "The project's state does not allow the decision; current_status names the state. A project is approved or "
        "rejected while it is pending, and unpublished while it is live.",
    ),
    "not_votable": Kind(409, "Not open to votes", "Only live projects take votes."),
    "duplicate": Kind(
        409,
        "Exists already",
        "Something with the same identity exists: a username, an e-mail address, a category's slug, or a project of "
        "the same owner with the same URL. Each member of errors points to a value that is taken; existing is the "
        "project of one's own that has the URL.",
    ),
    "last_admin": Kind(
        409, "Last administrator", "The change would leave the directory without an active administrator."
    ),
    "category_in_use": Kind(409, "Category in use", "Projects belong to this category; move or delete them first."),
    "too_many_projects": Kind(
        409,
        "Too many projects",
        "The user has more projects than one request takes down or deletes; nothing was changed. To suspend a user, do "
        "so without unpublish, take projects down in portions by POST /api/admin/projects/decisions, and then send the "
        "request again for those that are left. To delete one's own account, delete some pending or rejected projects "
        "first.",
    ),
    "too_many_votes": Kind(
        409,
        "Too many votes",
        "The user has more votes than one request takes back; nothing was changed. To delete one's own account, take "
        "some votes back first.",
    ),
    "account_deleted": Kind(
        409, "Account deleted", "The user has deleted the account. It can neither be changed nor opened again."
    ),
    "precondition_failed": Kind(
        412, "Changed meanwhile", "If-Match named a version of the project that is no longer the current one."
    ),
    "too_large": Kind(413, "Body too large", "A body may be of 64 KiB at most."),
    "unsupported_media_type": Kind(415, "Not JSON", "Bodies are taken as application/json in UTF-8 only."),
    "validation_failed": Kind(
        422,
        "Validation failed",
        "Values were refused. Each member of errors points to one, by a JSON Pointer into the body or by the name of "
        "a query parameter, and says why. One answer reports all that is wrong; of more than a hundred errors it has "
        "the first hundred, and errors_truncated is true.",
    ),
    "rate_limited": Kind(
        429, "Too many requests", "A rate limit is used up. Retry-After says in how many seconds to try again."
    ),
    "internal": Kind(500, "Internal error", "A fault of the service. The log has it under the request's id."),
    "unavailable": Kind(
        503,
        "Unavailable",
        "The database does not answer within its bounds. Nothing was half done; try again after Retry-After seconds.",
    ),
    "read_only": Kind(
        503,
        "Read-only",
        "The service takes no writes at present, signing in included, while its data are being moved or saved. Reads "
        "go on. Nothing was done; try again after Retry-After seconds.",
    ),
}


def init_app(app: Flask) -> None:
    """Answer every exception with a problem."""
    app.register_error_handler(DirectoryError, answer)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(SQLAlchemyError, _database)
    app.register_error_handler(Exception, _internal)


def answer(error: DirectoryError) -> Response:
    """The response to a domain error."""
    kind = KINDS[error.code]
    if error.code in REFUSALS or isinstance(error, WrongPassword):
        who = {"address": client_address(), "account_id": g.get("account_id")}
        log.info("refused", extra={"code": error.code, **who})
    body = {
        "type": f"/api/problems/{error.code}",
        "title": kind.title,
        "status": kind.status,
        "detail": error.detail,
        "code": error.code,
        "request_id": g.get("request_id"),
        **error.extra,
    }
    response = Response(orjson.dumps(body), status=kind.status, content_type=MEDIA_TYPE)
    if kind.status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="directory"'
    wait = getattr(error, "retry_after", None)
    if wait is not None:
        response.headers["Retry-After"] = str(wait)
    return response


def _http(error: HTTPException) -> Response:
    """The framework's and the libraries' own refusals, in our shape."""
    if error.code == 405:
        response = answer(_coded("method_not_allowed", f"{request.method} is not taken here."))
        response.headers["Allow"] = ", ".join(sorted(getattr(error, "valid_methods", None) or ()))
        return response
    if error.code == 429:
        return answer(RateLimited(retry_after()))
    simple = {404: NotFound, 413: TooLarge, 415: UnsupportedMediaType, 503: Unavailable}
    if error.code in simple:
        return answer(simple[error.code]())
    if error.code is not None and 400 <= error.code < 500:
        return answer(_coded("bad_request", "The request could not be understood."))
    return _internal(error)


def _database(error: SQLAlchemyError) -> Response:
    if not is_unavailable(error):
        return _internal(error)
    # The driver's text may hold values and addresses: the log gets the kind alone.
    log.warning("database unavailable", extra={"reason": type(error).__name__, "state": state_of(error)})
    return answer(Unavailable())


def _internal(error: Exception) -> Response:
    log.error("unhandled exception", exc_info=error)
    return answer(DirectoryError("The service failed. Quote the request_id when you report it."))


def _coded(code: str, detail: str) -> DirectoryError:
    error: Any = DirectoryError(detail)
    error.code = code
    return error  # type: ignore[no-any-return]
