"""X-Expected-User: the account that a page's write is meant for, because another tab may have changed the session."""

from typing import Any

from flask import request

from directory.errors import OtherUser
from directory.http.authentication import viewer
from directory.services.accounts.identity import Caller

NAME = "X-Expected-User"
_KEY = "HTTP_X_EXPECTED_USER"


def refuse_other() -> None:
    """Raise OtherUser for a write that is meant for another account. If the session has ended, the route refuses."""
    if _KEY in request.environ and (caller := viewer()) is not None and is_other(request.environ, caller):
        raise OtherUser


def is_other(environ: dict[str, Any], caller: Caller) -> bool:
    """Whether the request with this WSGI environment is meant for another account than the caller's."""
    expected: str | None = environ.get(_KEY)
    return expected is not None and expected.strip() != str(caller.id)
