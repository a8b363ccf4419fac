"""Feed keys: the secret in the address by which a feed reader, which cannot sign in, reads the feed as a member.

An account has one or none. Only its hash is stored, with the account.
"""

import secrets

from sqlalchemy import String, exists, or_, select, update

from directory import events
from directory.db.batched_query import BatchedQuery
from directory.errors import Unauthenticated
from directory.extensions import modify
from directory.models import AccountStatus, Role, Session, Token, User
from directory.services import audit
from directory.services.accounts import sessions
from directory.services.identity import Caller

_USER = User.__table__.c
_FIND = BatchedQuery(
    {"digest": String()},
    lambda digest: select(_USER.id, _USER.username).where(
        _USER.feed_key_hash == digest, _USER.status == AccountStatus.ACTIVE.value, sessions.is_awake(User.__table__)
    ),
    sessions.token_parameters,
)


def make(by: Caller) -> str:
    """Make the caller's key, whose text is returned this once, and end the one before. Raises Unauthenticated.

    One statement sees that the account is active and that what the caller signed in by has not ended: a key that is
    made during a suspension, or during a new password, would outlive it.
    """
    key = secrets.token_urlsafe(32)
    session = exists().where(Session.id == by.session_id, Session.user_id == by.id)
    token = exists().where(Token.id == by.token_id, Token.user_id == by.id)
    making = update(User).where(User.id == by.id, User.status == AccountStatus.ACTIVE, or_(session, token))
    if not modify(making.values(feed_key_hash=sessions.digest(key))):
        raise Unauthenticated
    audit.record(events.USER_FEED_KEY_MADE, by=by, user_id=by.id)
    return key


def delete(by: Caller) -> None:
    """Delete the caller's key, if there is one."""
    if sessions.end_feed_key(by.id):
        audit.record(events.USER_FEED_KEY_DELETED, by=by, user_id=by.id)


def reader(key: str) -> Caller | None:
    """The member whose key this is; None for a key that is none, or that rests.

    A key gives no more than a member may.
    """
    row = _FIND.one(sessions.digest(key))
    return None if row is None else Caller(row[0], row[1], Role.MEMBER.value)
