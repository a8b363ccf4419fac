"""The passkeys of accounts as data: what is exported, and what ends with an account or by time."""

from typing import Any

from sqlalchemy import delete, select

from directory.extensions import db, modify
from directory.models import Passkey, PasskeyChallenge
from directory.services.clock import database_clock
from directory.services.deleting import delete_some
from directory.services.identity import Caller


def listed(by: Caller) -> list[dict[str, Any]]:
    """The caller's passkeys, newest first."""
    query = select(Passkey).where(Passkey.user_id == by.id).order_by(Passkey.id.desc())
    return [shown(each) for each in db.session.scalars(query)]


def shown(passkey: Passkey) -> dict[str, Any]:
    """What its user sees of a passkey."""
    return {name: getattr(passkey, name) for name in ("id", "name", "created_at", "last_used_at")}


def end_all(user_id: int) -> int:
    """Remove all passkeys of a user; how many there were. Challenges end with the sessions that they belong to."""
    return modify(delete(Passkey).where(Passkey.user_id == user_id))


def purge(most: int) -> int:
    """Delete at most `most` challenges that have expired, and return how many."""
    return delete_some(PasskeyChallenge, PasskeyChallenge.expires_at < database_clock(), most)
