"""The form that signs in, for every page that needs a member, and for forms sent after the session had ended."""

import json
from contextlib import suppress
from functools import wraps
from typing import Any

from flask import current_app, request

from directory.errors import DirectoryError, Unauthenticated
from directory.http import languages
from directory.http.exchange import current
from directory.http.password_checks import are_on
from directory.http.request_body import parse_json
from directory.http.signing_in import password_reset
from directory.http.validation import KEPT
from directory.language.messages import _
from directory.pages.forms import EMPTY, Form, see_other
from directory.pages.head import Head
from directory.pages.layout import PageAnswer, address_with, own_address, own_path, show, slot_values
from directory.pages.translated import in_same_language
from directory.services import turn_words
from directory.services.accounts import users


def next_page(query: dict[str, str] | None) -> str:
    """The page to open afterwards. Without `query`, by the address that a refused form was sent to."""
    return own_path((request.args if query is None else query).get("next"))


def sign_in_form(form: Form = EMPTY, query: dict[str, str] | None = None, reason: str = "", **_path: Any) -> PageAnswer:
    """The form that signs in."""
    to, kept = next_page(query), current().aside.get(KEPT, "")
    facts = {
        "next": to, "reason": reason, "can_reset": password_reset(),
        "has_passwords": are_on(),
        "endings": accepted(), **slot_values("sign_in"),
        **({"submits": True, "takes": turn_words.review_takes()} if to.partition("?")[0] == "/submit" else {}),
        "kept": kept, "texts": _texts_of(kept), "beyond": in_same_language(to),
    }  # fmt: skip
    return show("sign_in.html", Head(_("Sign in"), indexed=False), here=to, form=form, **facts)


def accepted() -> list[str]:
    """How the addresses of new accounts have to end; empty where each may have one, or nobody."""
    config = current_app.config
    return [users.ending(domain) for domain in config["SIGNUP_DOMAINS"] if config["REGISTRATION_OPEN"]]


def _texts_of(kept: str) -> dict[str, str]:
    """What was typed in the form that was sent without a session, for copying; nothing if it cannot be read."""
    with suppress(DirectoryError):
        values = parse_json(kept.encode()) if kept else {}
        return {name: text for name, text in values.items() if text.strip()} if is_texts(values) else {}
    return {}


GO_ON = _("Sign in to go on.")
ENDED = _("Your session has ended. Sign in to go on: what you wrote is kept.")


def again(form: Form) -> PageAnswer:
    """The form that signs in, for a member's form that was sent after the session had ended.

    It keeps the typed text. After signing in the member's form has this text again.
    """
    kept = json.dumps(form.values, ensure_ascii=False) if any(form.values.values()) else ""
    current().aside[KEPT] = kept
    return sign_in_form(query={"next": request.path}, reason=ENDED if kept else GO_ON)


def is_texts(values: Any) -> bool:
    """Whether these are the values of a form."""
    return isinstance(values, dict) and all(isinstance(text, str) for text in values.values())


def asks_to_sign_in(view: Any) -> Any:
    """Decorate the view of a member's page: anonymous callers are sent to the page that signs in, and come back."""

    @wraps(view)
    def run(**path: Any) -> Any:
        try:
            return view(**path)
        except Unauthenticated:
            return see_other(address_with("/sign-in", next=own_address()))

    return run


def refused(form: Form, then: str, back: str, reason: str = GO_ON) -> PageAnswer:
    """Why a button's form was refused, with a way `back`; for a caller who is not signed in, the form that signs in."""
    if form.code == "unauthenticated":
        return sign_in_form(query={"next": then}, reason=reason)
    problem = {"title": form.title, "detail": form.problem or languages.joined(form.errors.values()), "code": form.code}
    return show("problem_page.html", Head(form.title, indexed=False), here=back, problem=problem, back=back)
