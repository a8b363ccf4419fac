"""Identities: by which providers an account is signed in to.

An identity is an issuer and a subject, and belongs to one account, by a unique constraint. It is joined to an account
that exists only by its user, or where both sides have confirmed the same address.
"""

from typing import Any

from sqlalchemy import delete, select, update

from directory import events
from directory.db.errors import refusing
from directory.errors import AccountSuspended, Duplicate, LastWayIn, NotFound, RegistrationClosed, Unauthenticated
from directory.extensions import db, modify
from directory.extras.providers import free_names
from directory.extras.providers.attempts import LIFETIME
from directory.extras.providers.provider import Claims
from directory.extras.providers.refusals import (
    AddressTaken,
    IdentityTaken,
    NoAddress,
    NotAdmitted,
)
from directory.models import AccountStatus, Identity, User, now
from directory.services import audit
from directory.services.accounts import accounts, sessions, users
from directory.services.drafts import Judge
from directory.services.identity import Caller


def account_of(
    claims: Claims, *, registration_open: bool, domains: tuple[str, ...] = (), judge: Judge | None = None
) -> tuple[User, bool]:
    """The account of an identity, locked, and whether it was opened just now.

    An identity of an account that exists is joined to it, unless the person's groups are not admitted. `domains` are
    those of SIGNUP_DOMAINS, for new accounts, which `judge` judges.

    Raises AddressTaken, AccountSuspended, RegistrationClosed, RegistrationRefused, NoAddress, NotAdmitted; and
    Duplicate if another transaction has just taken the name, the address or the identity: the caller tries again, and
    finds it.
    """
    user, is_new = _owner(claims), False
    if user is not None:
        _require_active(user)
        return user, is_new
    user = _owner_of_address(claims)
    if user is None:
        user, is_new = _opened(claims, registration_open, domains, judge), True
    _require_active(user)
    if not is_refused(claims):
        _add(claims, user, Duplicate(["identity"]))
    return user, is_new


def is_refused(claims: Claims) -> bool:
    """Whether the person's groups are known not to be admitted."""
    return claims.membership is not None and claims.membership.is_refused


def _owner(claims: Claims) -> User | None:
    """The account that has the identity, locked; None if none has. The provider's present claims are stored."""
    user_id = db.session.scalar(select(Identity.user_id).where(*_is(claims)))
    if user_id is None:
        return None
    user = _locked(user_id, claims)
    seen = update(Identity).where(*_is(claims), Identity.user_id == user_id)
    if not modify(seen.values(last_used_at=now(), email=claims.email)):
        raise Duplicate(["identity"])  # removed meanwhile
    if user.must_verify and not user.email_verified and claims.email_verified and claims.email == user.email:
        user.email_verified_at = now()
    return user


def _locked(user_id: int, claims: Claims) -> User:
    """The account, locked; with all active administrators in the order of their ids, if its role may change."""
    if claims.membership is not None:
        accounts.lock_admins_and(user_id)
    return accounts.locked(user_id)


def _owner_of_address(claims: Claims) -> User | None:
    """The account with the same address, locked, if both sides have confirmed it. Raises AddressTaken, NotAdmitted."""
    if claims.email is None:
        return None
    user_id = db.session.scalar(select(User.id).where(User.email == claims.email))
    if user_id is None:
        return None
    user = _locked(user_id, claims)
    if not (claims.email_verified and user.email_verified and user.email == claims.email):
        raise NotAdmitted if is_refused(claims) else AddressTaken
    return user


def _opened(claims: Claims, registration_open: bool, domains: tuple[str, ...], judge: Judge | None) -> User:
    """A new account, without a password.

    Raises NotAdmitted, RegistrationClosed, RegistrationRefused, NoAddress, Duplicate.
    """
    if claims.membership is not None and not claims.membership.opens_account:
        raise NotAdmitted
    if not registration_open:
        raise RegistrationClosed
    if claims.email is None:
        raise NoAddress
    if not users.admits(domains, claims.email):
        raise NotAdmitted
    details: dict[str, Any] = {"is_confirmed": claims.email_verified, "must_verify": bool(domains), "judge": judge}
    user = accounts.register(free_names.free(claims.names), claims.email, "", **details)
    user.may_rename = True
    user.email_verified_at = now() if claims.email_verified else None
    return user


def _require_active(user: User) -> None:
    if user.status == AccountStatus.SUSPENDED:
        raise AccountSuspended


def _add(claims: Claims, user: User, taken: Duplicate | IdentityTaken) -> None:
    values = {"issuer": claims.issuer, "subject": claims.subject, "email": claims.email}
    db.session.add(Identity(user_id=user.id, **values))
    with refusing(uq_identities_issuer_subject=taken):
        db.session.flush()
    by = Caller(user.id, user.username, user.role)
    audit.record(events.USER_IDENTITY_ADDED, by=by, user_id=user.id, to_state=claims.provider)


def _is(claims: Claims) -> tuple[Any, Any]:
    return Identity.issuer == claims.issuer, Identity.subject == claims.subject


def join(claims: Claims, *, by: Caller) -> None:
    """Join an identity to the caller's account. Again it changes nothing.

    An identity opens fresh sessions. If an old session or a token could join one, it could do all that asks for the
    password or a fresh session. Raises Unauthenticated, SignInAgain, IdentityTaken.
    """
    user = accounts.locked(by.id)
    if user.status != AccountStatus.ACTIVE:
        raise Unauthenticated
    sessions.require_fresh(by, sessions.FRESH + LIFETIME)
    owner = db.session.scalar(select(Identity.user_id).where(*_is(claims)))
    if owner is None:
        _add(claims, user, IdentityTaken())
    elif owner != by.id:
        raise IdentityTaken


def remove(identity_id: int, *, by: Caller, names: dict[str, str], passwords: bool = True) -> None:
    """Remove one of the caller's identities. `names` has the configured providers, by their issuers.

    `passwords` says whether accounts can be signed in to by a password.

    The account is locked first, so that of two requests that remove the last two, one is refused.
    Raises NotFound, LastWayIn.
    """
    user = accounts.locked(by.id)
    own = select(Identity.id, Identity.issuer).where(Identity.user_id == by.id)
    issuers = {row.id: row.issuer for row in db.session.execute(own)}
    if identity_id not in issuers:
        raise NotFound
    issuer = issuers.pop(identity_id)
    if not (passwords and user.password_hash) and not names.keys() & set(issuers.values()):
        raise LastWayIn
    modify(delete(Identity).where(Identity.id == identity_id))
    audit.record(events.USER_IDENTITY_REMOVED, by=by, user_id=by.id, from_state=names.get(issuer))
