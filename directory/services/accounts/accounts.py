"""Accounts: registering, checking a password, changing oneself, and what administrators change of others."""

from typing import Any

from sqlalchemy import bindparam, or_, select, update

from directory import events
from directory.db.errors import refusing
from directory.db.statements import Prepared
from directory.db.transactions import on_postgresql
from directory.errors import (
    AccountDeleted,
    AccountSuspended,
    Duplicate,
    Invalid,
    InvalidCredentials,
    NotFound,
    RegistrationRefused,
    WrongPassword,
)
from directory.events import Event
from directory.extensions import db, modify
from directory.language.messages import _
from directory.models import AccountStatus, Effect, Role, User, now, role_of
from directory.services import audit, permissions
from directory.services.accounts import mail_links, sessions, usernames
from directory.services.accounts.passwords import check_password_rules, hash_password, needs_rehash, verify_password
from directory.services.drafts import Judge, Registration
from directory.services.identity import Caller
from directory.services.text.rules import ascii_address

CHOSEN = _("Your username can no longer be changed.")
TAKEN = _("This username or e-mail address is taken.")
U = User.__table__.c
_ACCOUNT = Prepared(select(*U, role_of(U)).where(U.id == bindparam("id")))


def password_refusals(password: str | None, *, username: str | None, email: str | None) -> list[dict[str, str]]:
    """The first rule that a new password breaks, as the errors of an answer; empty if it breaks none, or is None."""
    if password is None:
        return []
    refusal = check_password_rules(password, username=username or "", email=email or "")
    return [{"pointer": "#/password", "detail": refusal}] if refusal else []


def prepare_password(password: str, *, username: str, email: str) -> str:
    """The hash of a new password. Not to be called in a transaction, because it takes long. Raises Invalid."""
    if refusals := password_refusals(password, username=username, email=email):
        raise Invalid(refusals)
    return hash_password(password)


def register(
    username: str,
    email: str,
    password_hash: str,
    *,
    role: str = Role.MEMBER,
    by_command: bool = False,
    must_verify: bool = False,
    is_confirmed: bool = False,
    judge: Judge | None = None,
) -> User:
    """Add an account, for its user or by a command, unless `judge` rejects it.

    With `must_verify` it may do little until its address is confirmed, which it may be already.

    Raises Duplicate, which names what is taken, and RegistrationRefused, whose verdict the calling function records in
    a transaction of its own.
    """
    verdict = judge(Registration(email, is_confirmed, now())) if judge is not None else None
    if verdict is not None and verdict.effect is Effect.REJECT:
        raise RegistrationRefused(verdict)
    user = User(username=username, email=email, password_hash=password_hash, role=role, must_verify=must_verify)
    db.session.add(user)
    with refusing(
        uq_users_username=lambda: _taken("username", username=username, email=email),
        uq_users_email=lambda: _taken("email", username=username, email=email),
    ):
        db.session.flush()
    _record_own(events.USER_REGISTERED, user, by_command=by_command, to_state=role)
    if verdict is not None:
        verdict.record(user.id)
    return user


def _record_own(action: Event, user: User, *, by_command: bool = False, **facts: Any) -> None:
    """Log what a user, or a command, did to the user's account."""
    by = None if by_command else Caller(user.id, user.username, user.role)
    audit.record(action, by=by, user_id=user.id, **facts)


def record_password(user: User, *, by_command: bool = False) -> None:
    """Log that an account has a new password."""
    _record_own(events.USER_PASSWORD_CHANGED, user, by_command=by_command)


def record_email(user: User) -> None:
    """Log that an account has a new address. The log has no address, because it outlives the account."""
    _record_own(events.USER_EMAIL_CHANGED, user)


def _taken(violated: str, *, username: str, email: str) -> Duplicate:
    """The refusal for all values that are taken; `violated` is the one that the database has named."""
    rows = db.session.execute(
        select(User.username, User.email).where(or_(User.username == username, User.email == email))
    ).all()
    taken = {
        "username": violated == "username" or any(row.username == username for row in rows),
        "email": violated == "email" or any(row.email == email for row in rows),
    }
    return Duplicate([name for name, is_taken in taken.items() if is_taken], TAKEN)


def canonical_login(typed: str) -> str:
    """A username or e-mail address as accounts have it, however it is typed."""
    return ascii_address(typed.strip()).lower()


def find(login: str) -> User | None:
    """The account of a username or e-mail address, whatever its case."""
    login = canonical_login(login)
    if not login.isprintable():  # no account has such a name, and no database accepts half of a surrogate pair
        return None
    return db.session.scalar(select(User).where(User.email == login if "@" in login else User.username == login))


def get(user_id: int) -> User:
    """The account of an id. Raises NotFound."""
    user = db.session.get(User, user_id)
    if user is None:
        raise NotFound
    return user


def own(by: Caller) -> dict[str, Any]:
    """The account of a caller as answers show it to its user, with what the caller may do in this session.

    The account was authenticated, so it has a row: even that of a deleted account stays.
    """
    [row] = _ACCOUNT.all({"id": by.id})
    columns = dict(zip((*U.keys(), "role"), row, strict=True))
    derived = {"is_admin": columns["role"] == Role.ADMIN, "email_verified": columns["email_verified_at"] is not None}
    return {**columns, **derived, "permissions": permissions.named(by)}


def authenticate(user: User | None, password: str) -> User:
    """Return the user if the password is correct. The calling function must have no open transaction (`release`).

    An unknown user takes as long as a wrong password. Raises InvalidCredentials; AccountSuspended only if the password
    is correct.
    """
    # A deleted account has an empty hash, and is checked like an unknown user.
    matches = verify_password((user.password_hash or None) if user else None, password)
    if user is None or not matches:
        raise InvalidCredentials
    if user.status == AccountStatus.SUSPENDED:
        raise AccountSuspended
    return user


def require_password(known_hash: str, password: str) -> None:
    """Raise WrongPassword unless `password` is the caller's present one."""
    if not verify_password(known_hash, password):
        raise WrongPassword


def release() -> None:
    """Give the database connection back for the time that a password takes to hash; what was read stays readable."""
    db.session.expunge_all()
    db.session.rollback()


def upgraded_hash(user: User, password: str) -> str | None:
    """A new hash where the stored one was made with other parameters than today's."""
    return hash_password(password) if needs_rehash(user.password_hash) else None


def login(user_id: int, known_hash: str, *, new_hash: str | None, user_agent: str) -> str:
    """Open a session for an account whose password was just found to match `known_hash`; return its secret.

    The account is looked at again under its lock, so that a suspension or a password change in between wins.
    Raises InvalidCredentials, AccountSuspended.
    """
    user = locked(user_id)
    if user.password_hash != known_hash:
        raise InvalidCredentials
    if user.status == AccountStatus.SUSPENDED:
        raise AccountSuspended
    if new_hash:
        user.password_hash = new_hash
    return sessions.begin(user_id, user_agent=user_agent)


def change(
    caller: Caller,
    *,
    email: str | None,
    known_hash: str,
    new_hash: str | None,
    revoke_tokens: bool = False,
    notify: bool | None = None,
    by_command: bool = False,
) -> User:
    """Change one's own e-mail address, password, or whether decisions are mailed.

    A new address is not verified. A new password ends the other sessions, all links for a new password, and all links
    that were mailed to other addresses; if asked, it also revokes all tokens. `by_command`: a command of the operator
    does it, instead of the user.

    Raises Duplicate, WrongPassword, AccountDeleted.
    """
    user = locked(caller.id)
    if user.deleted_at is not None:
        raise AccountDeleted
    is_new = email not in (None, user.email)
    if email is not None and is_new:
        user.email, user.email_verified_at = email, None
    if notify is not None:
        user.notify = notify
    if new_hash is not None:
        if user.password_hash != known_hash:
            raise WrongPassword
        user.password_hash = new_hash
    with refusing(uq_users_email=Duplicate(["email"], TAKEN)):
        db.session.flush()  # before any other statement, which would flush it unguarded
    if is_new:
        record_email(user)
    if new_hash is not None:
        record_password(user, by_command=by_command)
        _end_old_access(user, keep=caller.session_id, revoke_tokens=revoke_tokens)
    return user


def _end_old_access(user: User, *, keep: int | None, revoke_tokens: bool) -> None:
    """End what a new password ends."""
    mail_links.end_for_new_password(user)
    sessions.end_all(user.id, keep=keep)
    if revoke_tokens:
        sessions.revoke_tokens(user.id)


def choose_username(username: str, *, by: Caller) -> None:
    """Rename a caller whose username was made from a provider's data; this works once. Raises Invalid, Duplicate."""
    user = locked(by.id)
    if refusals := username_refusals(username, user):
        raise Invalid(refusals)
    user.may_rename = False
    if username == user.username:
        return
    user.username = username
    with refusing(uq_users_username=Duplicate(["username"], TAKEN)):
        db.session.flush()
    audit.record(events.USER_RENAMED, by=by, user_id=by.id)


def choose_language(tag: str | None, *, by: Caller) -> None:
    """Note the language that a user has chosen, in which mail is written; None for that of the site."""
    modify(update(User).where(User.id == by.id, User.deleted_at.is_(None)).values(language=tag))


def username_refusals(username: str | None, user: User) -> list[dict[str, str]]:
    """Why the user may not have this username, as the errors of an answer; empty if it is None."""
    if username is None:
        return []
    if not user.may_rename:
        return [{"pointer": "#/username", "detail": CHOSEN}]
    return usernames.refusals(username) if username != user.username else []


def sign_out(user_id: int, *, by: Caller) -> None:
    """End all sessions of a user; API tokens stay. It is logged if there was a session. Raises NotFound."""
    if db.session.scalar(select(User.id).where(User.id == user_id)) is None:
        raise NotFound
    if sessions.end_all(user_id):
        audit.record(events.USER_SIGNED_OUT, by=by, user_id=user_id)


def lock_admins_and(*user_ids: int) -> tuple[set[int], Any]:
    """The ids of the active administrators, and the row of the first user, all locked in the order of their ids."""
    active = (User.stored_role == Role.ADMIN) & (User.status == AccountStatus.ACTIVE)
    by_hand = (User.role_source, User.local_role, User.local_categories)
    columns = select(User.id, User.role, User.status, User.deleted_at, User.review_categories, *by_hand)
    columns = columns.where(or_(active, User.id.in_(user_ids)))
    rows = list(db.session.execute(columns.order_by(User.id).with_for_update(key_share=True)))
    admins = {row.id for row in rows if row.role == Role.ADMIN and row.status == AccountStatus.ACTIVE}
    return admins, next((row for row in rows if row.id == user_ids[0]), None)


def wait_for_requests_of(*user_ids: int) -> None:
    """Wait for the users' current requests, which have locked their accounts (identity.require_active)."""
    if on_postgresql():
        db.session.execute(select(User.id).where(User.id.in_(user_ids)).order_by(User.id).with_for_update())


def locked(user_id: int) -> User:
    """An account, read again under its lock. Raises NotFound."""
    query = select(User).where(User.id == user_id).with_for_update(key_share=True)
    user = db.session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    if user is None:
        raise NotFound
    return user
