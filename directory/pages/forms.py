"""Forms: HTML forms over the operations of the API.

A form has the schema, the rules, the rate limit and the errors of a route of the API. An accepted form is answered by
303. A refusal shows the form again, with what was typed, each error at its field, and the status of the API.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

from flask import Response, request
from marshmallow import Schema
from sqlalchemy.exc import SQLAlchemyError

from directory.errors import DirectoryError, OtherUser
from directory.http import languages, problem_details, write_checks
from directory.http.authentication import viewer
from directory.http.endpoint import Operation
from directory.http.exchange import current
from directory.http.validation import EXPECTED_USER, FormBody, take_form
from directory.language.messages import _
from directory.pages.head import Head
from directory.pages.layout import PageAnswer, explained, problem_of, show, with_page
from directory.services.catalog.fields import OWN_FIELDS, PREFIX

SECRET = ("password", "token")  # the last words of the names of fields that are not shown again
BLANK = _("Please fill this in.")
NO_STORE = {"Cache-Control": "no-store"}

View = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Form:
    """The content of a form: the typed values, the errors by field, and the error of the whole, its title and code.

    Both are in the order of the form. `has_file` is true if a file was sent with it, which no page can give back.
    `existing` is the caller's project that the refusal names. The code `filled` stands for success: the error of the
    whole then says that the website filled in the form.
    """

    values: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    title: str = ""
    code: str = ""
    has_file: bool = False
    existing: dict[str, Any] | None = None


EMPTY = Form()


def same_as(view: Any, body: Schema | None = None, files: tuple[str, ...] = ()) -> Operation:
    """The operation of a form that reuses a route of the API, with the route's body unless `body` is given.

    `files` are the fields that take a file.
    """
    spec: Operation = view.operation
    form = FormBody(body or spec.body.schema, spec.body.check, files)
    return Operation(
        body=form, tier=spec.tier, transactional=spec.transactional, page=True, parameters=True, when=spec.when
    )


def shows(page: Any) -> Callable[[View], View]:
    """Show `page` if a view refuses the input: the page with the form, or a function for forms that many pages have.

    It gets the `Form` as `form`, and the arguments of the path. If another account is signed in now, or the page cannot
    be shown any more, what was typed is shown for copying instead.
    """
    answer: Callable[..., PageAnswer] = getattr(page, "view", page)

    def decorate(view: View) -> View:
        @wraps(view)
        def run(**path: Any) -> Any:
            try:
                return view(**path)
            except DirectoryError as error:
                _take_unread_form()
                response = problem_details.answer(OtherUser() if _is_of_other_user() else error)
                shown = with_page(response, _page_or_text(answer, _refused(problem_of(response)), path))
                shown.headers.update(NO_STORE)
                return shown

        run.form_again = partial(_again, answer)  # type: ignore[attr-defined]
        run.form_page = answer  # type: ignore[attr-defined]
        return run

    return decorate


def _take_unread_form() -> None:
    """Read the form of a request that was refused before its form was read, as far as it can be read."""
    if current().typed is None:
        with suppress(DirectoryError):
            take_form()


def _is_of_other_user() -> bool:
    expected = current().aside.get(EXPECTED_USER)
    return expected is not None and write_checks.is_other(expected, viewer())


def _page_or_text(answer: Callable[..., PageAnswer], form: Form, path: dict[str, Any]) -> PageAnswer:
    """The page with the form; if it cannot be shown, as after its project was deleted, what was typed in it."""
    try:
        return text_of_form(form) if form.code == OtherUser.code else answer(form=form, **path)
    except DirectoryError:
        if not form.values:
            raise
        return text_of_form(form)


def text_of_form(form: Form) -> PageAnswer:
    """What was typed in a form that cannot be sent any more, for copying."""
    texts = {name: text for name, text in form.values.items() if text.strip()}
    return show("form_text.html", Head(form.title, indexed=False), here="/", form=form, texts=texts)


def _again(answer: Callable[..., PageAnswer], response: Response) -> PageAnswer:
    """The form of a request that was refused before its view, with what was typed, as far as it can be read.

    Where the form cannot be shown, as one of mail on a site that sends none, the problem is explained.
    """
    _take_unread_form()
    try:
        viewer()
        return answer(form=_refused(problem_of(response)), **(request.view_args or {}))
    except (DirectoryError, SQLAlchemyError):
        return explained(response)


def _refused(problem: dict[str, Any]) -> Form:
    typed, files = current().typed or {}, current().files  # nothing where the body could not be read
    errors: dict[str, str] = {}
    rest: list[str] = []
    for error in problem.get("errors", []):
        name, _slash, rest_of_it = error.get("pointer", "").removeprefix("#").removeprefix("/").partition("/")
        name = f"{PREFIX}{rest_of_it}" if name == OWN_FIELDS and rest_of_it else name  # "#" is the whole
        if name and name != "token":
            said = problem["detail"] if problem.get("existing") else error["detail"]
            errors.setdefault(name, said if typed.get(name) or name in files else BLANK)
        else:
            rest.append(error["detail"])
    places = {name: place for place, name in enumerate(typed)}
    errors = dict(sorted(errors.items(), key=lambda entry: places.get(entry[0], len(places))))
    values = {name: value for name, value in typed.items() if not name.endswith(SECRET)}
    said = languages.joined(rest) or ("" if errors else problem["detail"])
    existing = problem.get("existing")
    return Form(values, errors, said, problem["title"], problem["code"], has_file=bool(files), existing=existing)


def see_other(location: str, signed: Response | None = None) -> Response:
    """The answer to a form that was accepted; with the cookie that an answer of the API sets."""
    return with_cookies(Response(status=303, headers={"Location": location, **NO_STORE}), signed)


def with_cookies(response: Response, signed: Response | None) -> Response:
    """A response with the cookies that an answer of the API sets."""
    for cookie in signed.headers.getlist("Set-Cookie") if signed else ():
        response.headers.add("Set-Cookie", cookie)
    return response
