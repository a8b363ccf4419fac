"""Mail about decisions, switched off by a link that needs no signing in (RFC 8058)."""

import hmac
from collections.abc import Iterable

from sqlalchemy import update

from directory.errors import NotFound
from directory.extensions import modify
from directory.models import User
from directory.services import base64url


def token_of(user_id: int, key: bytes) -> str:
    """The token of a user's link, the same each time: it does nothing but switch mail off."""
    made = hmac.digest(key, f"mail off {user_id}".encode(), "sha256")
    return f"{user_id}-{base64url.encode(made)}"


def switch_off(token: str, keys: Iterable[bytes]) -> None:
    """Mail no more decisions to the user of a token that one of the keys made. Raises NotFound."""
    number = token.partition("-")[0]
    user_id = int(number) if number.isascii() and number.isdigit() and len(number) < 19 else 0
    given = token.encode("utf-8", "replace")
    if not any(hmac.compare_digest(token_of(user_id, key).encode(), given) for key in keys):
        raise NotFound
    modify(update(User).where(User.id == user_id).values(notify=False))
