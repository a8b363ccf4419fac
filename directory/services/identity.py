"""The caller: the user who makes a request, which services take as `by` or `viewer`."""

from dataclasses import dataclass

from sqlalchemy import BigInteger, bindparam, select

from directory.db.batched_query import BatchedQuery
from directory.db.statements import Prepared
from directory.errors import EmailNotVerified, Unauthenticated
from directory.models import AccountStatus, User

# The weakest lock, which a foreign key takes as well. Only a suspension or deletion of the account, and a change of its
# role, categories, username or e-mail address, wait for it.
_USER = User.__table__.c
_ACTIVE = Prepared(
    select(_USER.id)
    .where(_USER.id == bindparam("id"), _USER.status == AccountStatus.ACTIVE.value)
    .with_for_update(read=True, key_share=True)
)
_VERIFIED = BatchedQuery(
    {"id": BigInteger()}, lambda id: select(_USER.id).where(_USER.id == id, _USER.email_verified_at.is_not(None))
)


@dataclass(frozen=True, slots=True)
class Caller:
    """A user who acts. In a request the user is active, and identified by a session or a token.

    `by_passkey`: a passkey opened the session, or the token was made in such a session or by such a token.
    `role_by_passkey`: the role of an account that has signed in without the passkey that its role needs, and is treated
    as a member (REQUIRE_PASSKEY). `review_categories`: the ids of the categories that a reviewer may review, None for
    all; `permissions` answers who may do what. `has_unread`: there are entries in the threads of the account's projects
    that it has not read. `unconfirmed`: the account has to confirm its address before it does anything else.

    It is a value rather than a row: nothing of it is loaded again when the transaction that authenticated it ends.
    """

    id: int
    username: str
    role: str
    session_id: int | None = None
    token_id: int | None = None
    by_passkey: bool = False
    role_by_passkey: str | None = None
    review_categories: tuple[int, ...] | None = None
    has_unread: bool = False
    unconfirmed: bool = False


def require_active(by: Caller) -> None:
    """Hold the caller's account active, and its role, until the transaction ends. Raises Unauthenticated.

    A request is authenticated before its transaction begins, and a suspension in between wins. A suspension locks the
    account before its projects. To avoid deadlocks, this lock comes before all others of a transaction, too.
    """
    if not hold_active(by.id):
        raise Unauthenticated


def hold_active(user_id: int) -> bool:
    """Hold an account active until the transaction ends. Returns whether it is."""
    return _ACTIVE.first({"id": user_id}) is not None


def require_verified(by: Caller) -> None:
    """Raise EmailNotVerified unless the caller has confirmed the address of the account."""
    if not verified([by.id]):
        raise EmailNotVerified


def verified(user_ids: list[int]) -> set[int]:
    """Those of the users that have confirmed their e-mail addresses. On PostgreSQL it takes one statement."""
    return {row[0] for row in _VERIFIED.all([(user_id,) for user_id in user_ids]) if row is not None}
