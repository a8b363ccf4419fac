"""The switch of the language, at the end of every page of a site in several languages."""

from typing import Any

from directory.errors import NotFound
from directory.http import languages
from directory.http.access import for_unconfirmed, public
from directory.http.authentication import language_cookie, viewer
from directory.http.endpoint import Operation
from directory.http.fields import Line, Strict
from directory.http.validation import FormBody
from directory.pages.forms import see_other
from directory.pages.layout import bp, own_path
from directory.services.accounts import accounts


class LanguageForm(Strict):
    """The chosen language, and the page that leads there."""

    language = Line(1, 35, required=True)
    next = Line(0, 2_000)


def require_several() -> None:
    """Raise NotFound where there is nothing to choose."""
    if not languages.of_app().several:
        raise NotFound


@bp.post("/language")
@public
@for_unconfirmed
@Operation(body=FormBody(LanguageForm()), tier="write", page=True, parameters=True, when=require_several)
def choose_language(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Show pages in this language from now on, in this browser and wherever the account signs in; and go back.

    Raises NotFound for a language that the site does not have.
    """
    tag = languages.of_app().known(body["language"])
    if not tag:
        raise NotFound
    if by := viewer():
        accounts.choose_language(tag, by=by)
    response = see_other(own_path(body.get("next")))
    response.headers["Set-Cookie"] = language_cookie(tag)
    return response
