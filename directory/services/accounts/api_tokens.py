"""API tokens of members: what issues, lists and revokes them. `sessions` finds the caller of one."""

import secrets
from datetime import datetime
from typing import Any

from sqlalchemy import exists, func, select

from directory import events
from directory.errors import Invalid, Unauthenticated
from directory.extensions import db
from directory.language.messages import _
from directory.models import AccountStatus, Session, Token, User, now
from directory.services import audit
from directory.services.accounts.sessions import digest, remove_one
from directory.services.identity import Caller

MAX_TOKENS = 100  # of a user
TOKEN_PREFIX = "pds_"  # noqa: S105 (not a secret: by this prefix secret scanners recognise a token)


def refusals(fields: dict[str, Any]) -> list[dict[str, str]]:
    """The errors of an answer for a new token whose expiry is in the past. The schema has checked the `fields`."""
    expires_at = fields.get("expires_at")
    if expires_at is None or expires_at > now():
        return []
    return [{"pointer": "#/expires_at", "detail": _("This is in the past.")}]


def issue(name: str, expires_at: datetime | None, *, by: Caller) -> dict[str, Any]:
    """Make an API token. Its text is in the answer, and nowhere else.

    A token that is made by another expires no later, and is deleted with it. Raises Invalid, Unauthenticated.

    The account and the caller's session are looked at under the account's lock: a token made during a suspension, or
    during a new password, which ends the session, would outlive them.
    """
    if errors := refusals({"expires_at": expires_at}):
        raise Invalid(errors)
    locked = select(User.status).where(User.id == by.id).with_for_update(key_share=True)
    if db.session.scalar(locked) != AccountStatus.ACTIVE:
        raise Unauthenticated
    if by.session_id is not None and not db.session.scalar(select(exists().where(Session.id == by.session_id))):
        raise Unauthenticated
    if by.token_id is not None:
        expires_at = _expiry_within(by.token_id, expires_at)
    held = db.session.scalar(select(func.count()).where(Token.user_id == by.id)) or 0
    if held >= MAX_TOKENS:
        raise Invalid.field("name", _("There are {number} tokens already: delete one first.", number=MAX_TOKENS))
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = Token(user_id=by.id, name=name, token_hash=digest(secret), expires_at=expires_at)
    token.parent_id, token.by_passkey = by.token_id, by.by_passkey
    db.session.add(token)
    db.session.flush()  # for its id
    audit.record(events.USER_TOKEN_CREATED, by=by, user_id=by.id)
    return {"token": secret, **_token(token)}


def _expiry_within(parent_id: int, expires_at: datetime | None) -> datetime | None:
    """The expiry of a token that the token `parent_id` makes: not after that of `parent_id`. Raises Unauthenticated.

    The parent is locked until the transaction ends. A deletion of it waits, and then deletes the new token as well.
    """
    query = select(Token).where(Token.id == parent_id).with_for_update(read=True, key_share=True)
    parent = db.session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    if parent is None:  # revoked since this request began
        raise Unauthenticated
    return min((time for time in (expires_at, parent.expires_at) if time is not None), default=None)


def listed(caller: Caller) -> list[dict[str, Any]]:
    """The caller's tokens, newest first, without their texts."""
    query = select(Token).where(Token.user_id == caller.id).order_by(Token.id.desc())
    return [_token(token) for token in db.session.scalars(query)]


def revoke(token_id: int, *, by: Caller) -> None:
    """Delete one of the caller's tokens. Raises NotFound."""
    remove_one(Token, token_id, by=by)
    audit.record(events.USER_TOKEN_REVOKED, by=by, user_id=by.id)


def _token(token: Token) -> dict[str, Any]:
    names = ("id", "name", "created_at", "expires_at", "last_used_at")
    return {name: getattr(token, name) for name in names}
