"""The caller: the value that every rule takes as `by` or `viewer`."""

from dataclasses import dataclass

from sqlalchemy import BigInteger, bindparam, select

from directory.db.batched_query import BatchedQuery
from directory.db.statements import Prepared
from directory.errors import EmailNotVerified, Unauthenticated
from directory.extensions import db
from directory.models import AccountStatus, Role, User

# The weakest lock, which a foreign key takes as well: only a suspension or a deletion of the account waits for it.
_ACTIVE = select(User.id).where(User.id == bindparam("id"), User.status == AccountStatus.ACTIVE)
_ACTIVE = _ACTIVE.with_for_update(read=True, key_share=True)
_USER = User.__table__.c
_VERIFIED = BatchedQuery(
    {"id": BigInteger()}, lambda id: select(_USER.id).where(_USER.id == id, _USER.email_verified_at.is_not(None))
)
_IS_ADMINISTRATOR = (_USER.role == Role.ADMIN.value, _USER.status == AccountStatus.ACTIVE.value)
_ADMINISTRATOR = Prepared(select(_USER.id).where(_USER.id == bindparam("id"), *_IS_ADMINISTRATOR))


@dataclass(frozen=True, slots=True)
class Caller:
    """An active user as of this request, and the session or token that proves it.

    `by_passkey` says whether a passkey opened the session, or the one in which the token was made. `needs_passkey` is
    true for an administrator who has to sign in by one (REQUIRE_PASSKEY), and is a member until then.

    It is a value rather than a row: nothing of it is loaded again when the transaction that authenticated it ends.
    """

    id: int
    username: str
    role: str
    session_id: int | None = None
    token_id: int | None = None
    by_passkey: bool = False
    needs_passkey: bool = False

    @property
    def is_admin(self) -> bool:
        """True exactly when the role is admin."""
        return self.role == Role.ADMIN


def require_active(by: Caller) -> None:
    """Hold the caller's account active until the transaction ends. Raises Unauthenticated.

    A request is authenticated before its transaction begins, and a suspension in between wins. A takedown locks the
    account before its projects; so this lock comes before all others of a transaction.
    """
    if not hold_active(by.id):
        raise Unauthenticated


def hold_active(user_id: int) -> bool:
    """Hold an account active until the transaction ends. Returns whether it is."""
    return db.session.scalar(_ACTIVE, {"id": user_id}) is not None


def is_administrator(by: Caller) -> bool:
    """Whether the caller is an active administrator now, as far as other transactions have committed."""
    return _ADMINISTRATOR.first({"id": by.id}) is not None


def require_verified(by: Caller) -> None:
    """Raise EmailNotVerified unless the caller has confirmed the address of the account."""
    if not verified([by.id]):
        raise EmailNotVerified


def verified(user_ids: list[int]) -> set[int]:
    """Those of the users that have confirmed the addresses of their accounts, by one statement."""
    return {row[0] for row in _VERIFIED.all([(each,) for each in user_ids]) if row is not None}
