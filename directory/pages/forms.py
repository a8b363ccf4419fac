"""Forms: HTML forms over the operations of the API.

A form has the schema, the rules, the rate limit and the errors of a route of the API. An accepted form is answered by
303. A refusal shows the form again, with what was typed, each error at its field, and the status of the API.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

from flask import Response, g, request
from marshmallow import Schema
from sqlalchemy.exc import SQLAlchemyError

from directory.errors import DirectoryError
from directory.http import problem_details
from directory.http.authentication import viewer
from directory.http.endpoint import Operation
from directory.http.request_body import read_form
from directory.http.validation import FormBody
from directory.pages.layout import Answer, explained, problem_of, with_page

SECRET = ("password", "token")
BLANK = "Please fill this in."
NO_STORE = {"Cache-Control": "no-store"}

View = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Form:
    """The content of a form: the typed values, the errors by field, and the error of the whole, its title and code."""

    values: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    title: str = ""
    code: str = ""


EMPTY = Form()


def same_as(view: Any, body: Schema | None = None) -> Operation:
    """The operation of a form that reuses a route of the API, with the route's body unless `body` is given."""
    spec: Operation = view.operation
    form = FormBody(body or spec.body.schema, spec.body.check)
    return Operation(body=form, tier=spec.tier, transactional=spec.transactional, page=True, parameters=True)


def shows(page: Any) -> Callable[[View], View]:
    """Show `page` if a view refuses the input: the page with the form, or a function for forms that many pages have.

    It gets the `Form` as `form`, and the arguments of the path.
    """
    answer: Callable[..., Answer] = getattr(page, "view", page)

    def decorate(view: View) -> View:
        @wraps(view)
        def run(**path: Any) -> Any:
            try:
                return view(**path)
            except DirectoryError as error:
                response = problem_details.of_view(error)
                shown = with_page(response, answer(form=_refused(problem_of(response)), **path))
                shown.headers.update(NO_STORE)
                return shown

        run.form_again = partial(_again, answer)  # type: ignore[attr-defined]
        return run

    return decorate


def _again(answer: Callable[..., Answer], response: Response) -> Answer:
    """The form of a request that was refused before its view, with what was typed, as far as it can be read.

    Where the form cannot be shown, as one of mail on a site that sends none, the problem is explained.
    """
    with suppress(DirectoryError):
        g.typed = dict(read_form())
    try:
        viewer()
        return answer(form=_refused(problem_of(response)), **(request.view_args or {}))
    except (DirectoryError, SQLAlchemyError):
        return explained(response)


def _refused(problem: dict[str, Any]) -> Form:
    typed: dict[str, str] = g.get("typed", {})  # nothing where the body could not be read
    errors: dict[str, str] = {}
    rest: list[str] = []
    for each in problem.get("errors", []):
        name = each.get("pointer", "").removeprefix("#/")
        if name and name != "token":
            errors[name] = each["detail"] if typed.get(name) else BLANK
        else:
            rest.append(each["detail"])
    values = {name: value for name, value in typed.items() if name not in SECRET}
    return Form(
        values, errors, " ".join(rest) or ("" if errors else problem["detail"]), problem["title"], problem["code"]
    )


def see_other(location: str, signed: Response | None = None) -> Response:
    """The answer to a form that was accepted; with the cookie that an answer of the API sets."""
    response = Response(status=303, headers={"Location": location, **NO_STORE})
    for cookie in signed.headers.getlist("Set-Cookie") if signed else ():
        response.headers.add("Set-Cookie", cookie)
    return response
