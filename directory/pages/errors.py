"""The page of an address that has none."""

from contextlib import suppress
from typing import Any

from flask import Response, current_app, request
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

from directory import errors
from directory.http import problem_details
from directory.http.authentication import viewer
from directory.http.exchange import READS, current
from directory.pages.forms import NO_STORE
from directory.pages.layout import ADDRESSES, MAILED_LINKS, OWN_PAGES, bp, explained, own_address, with_page
from directory.pages.sign_in_form import GO_ON, sign_in_form

KINDS = (problem_details.MEDIA_TYPE, "text/html")  # at an address without a route; the first where both are welcome


@bp.app_errorhandler(errors.MembersOnly)
def members_only(error: errors.MembersOnly) -> Response:
    """Answer 401 to an anonymous caller of a directory that only members read: people get the page that signs in.

    It does not depend on what is at the address, and leads back to it. A form that was sent after the session had ended
    is kept.
    """
    response = problem_details.answer(error)
    if request.path.startswith("/api/"):
        return response
    current().identify(None)  # also with a token that is not valid
    view: Any = current_app.view_functions.get(request.endpoint or "")
    is_form = request.method == "POST" and hasattr(view, "form_again")
    to = {"next": own_address()}
    shown = view.form_again(response) if is_form else sign_in_form(query=to, reason=GO_ON)
    response.headers.update(NO_STORE)
    return with_page(response, shown)


@bp.app_errorhandler(404)
def no_route(_error: HTTPException) -> Response | HTTPException:
    """Answer 404 at an address without a route: people get the page, and programs the problem, as everywhere.

    An address that has only a slash too many at its end is redirected.
    """
    response = problem_details.answer(errors.NotFound())
    if request.path.startswith("/api/"):
        return response
    if request.method in READS and request.path.endswith("/") and _is_page(request.path[:-1]):
        query = request.query_string.decode("ascii", "ignore")
        return RequestRedirect(f"{request.path[:-1]}{'?' if query else ''}{query}")
    return _for_people(response)


@bp.app_errorhandler(405)
def no_page(error: HTTPException) -> Response:
    """Answer 405; a browser that opens the address of a form, as after a restart, gets the page that says so."""
    response = problem_details.of_framework(error)
    is_page = request.method in READS and not request.path.startswith("/api/")
    return _for_people(response) if is_page else response


def _for_people(response: Response) -> Response:
    """A problem, as a page where the client asks for one."""
    response.vary.add("Accept")
    if request.accept_mimetypes.best_match(KINDS) != "text/html":
        return response
    with suppress(errors.DirectoryError, SQLAlchemyError):  # then the page is shown as to an anonymous caller
        viewer()
    return with_page(response, explained(response))


def _is_page(path: str) -> bool:
    adapter = current_app.create_url_adapter(request)
    try:
        endpoint = adapter.match(path, method="GET")[0] if adapter else ""
    except HTTPException:
        return False
    return endpoint.partition(".")[0] in {bp.name, MAILED_LINKS, OWN_PAGES, ADDRESSES}
