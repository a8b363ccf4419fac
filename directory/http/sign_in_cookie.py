"""The cookie of a browser during a sign-in with a provider: only the same browser can complete the sign-in."""

import re
import secrets

from flask import Response, current_app, request

from directory.http.authentication import attributes
from directory.services.sign_in.attempts import LIFETIME

SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
SECONDS = int(LIFETIME.total_seconds())


def browser_secret() -> str:
    """The secret of the browser's cookie, or a new one. Sign-ins in several tabs share it."""
    given = request.cookies.get(_name(), "")
    return given if SECRET.fullmatch(given) else secrets.token_urlsafe(32)


def give_browser_secret(response: Response, secret: str) -> None:
    """Set the cookie with the secret, for as long as a sign-in may take."""
    response.set_cookie(_name(), secret, max_age=SECONDS, **attributes())


def _name() -> str:
    return f"{current_app.config['COOKIE_NAME']}-sign-in"
