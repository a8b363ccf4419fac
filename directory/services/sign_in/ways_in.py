"""Identities, passkeys and sign-ins under way as data: what is exported, and what ends with an account or by time."""

from typing import Any

from sqlalchemy import delete, select

from directory.extensions import db, modify
from directory.models import Identity, Passkey, PasskeyChallenge, SignInAttempt
from directory.services.clock import database_clock
from directory.services.deleting import delete_some
from directory.services.identity import Caller


def identities(by: Caller) -> list[dict[str, Any]]:
    """The caller's identities, newest first."""
    columns = (Identity.id, Identity.issuer, Identity.subject, Identity.email)
    query = select(*columns, Identity.created_at, Identity.last_used_at).where(Identity.user_id == by.id)
    return [row._asdict() for row in db.session.execute(query.order_by(Identity.id.desc()))]


def passkeys(by: Caller) -> list[dict[str, Any]]:
    """The caller's passkeys, newest first."""
    query = select(Passkey).where(Passkey.user_id == by.id).order_by(Passkey.id.desc())
    return [shown(passkey) for passkey in db.session.scalars(query)]


def shown(passkey: Passkey) -> dict[str, Any]:
    """What its user sees of a passkey."""
    return {name: getattr(passkey, name) for name in ("id", "name", "created_at", "last_used_at")}


def end_all(user_id: int) -> None:
    """Remove all identities and passkeys of a user, and end the sign-ins that would join an identity."""
    for model in (Identity, SignInAttempt):
        modify(delete(model).where(model.user_id == user_id))
    end_passkeys(user_id)


def end_passkeys(user_id: int) -> int:
    """Remove all passkeys of a user; how many there were. Challenges end with the sessions that they belong to."""
    return modify(delete(Passkey).where(Passkey.user_id == user_id))


def purge_sign_ins(most: int) -> int:
    """Delete at most `most` sign-ins that have expired, and return how many."""
    return delete_some(SignInAttempt, SignInAttempt.expires_at < database_clock(), most)


def purge_challenges(most: int) -> int:
    """Delete at most `most` challenges of passkeys that have expired, and return how many."""
    return delete_some(PasskeyChallenge, PasskeyChallenge.expires_at < database_clock(), most)
