"""Links of the operator, each for one sign-in to an account: for the day on which a provider is down."""

from directory import events
from directory.errors import AccountDeleted, AccountSuspended
from directory.models import AccountStatus, User
from directory.services import audit
from directory.services.accounts import accounts, sessions
from directory.services.identity import Caller
from directory.services.sign_in import attempts


def make(user_id: int) -> str:
    """The token of a new link to an account. Raises NotFound, AccountDeleted, AccountSuspended."""
    _require_active(accounts.locked(user_id))
    return attempts.begin_by_link(user_id)


def user_of(token: str) -> User:
    """The account that a link signs in to. The link stays as it is. Raises SignInExpired."""
    return accounts.get(attempts.of_link(token))


def sign_in(token: str, *, user_agent: str) -> tuple[User, str]:
    """The account of a link, which is used up, and the secret of a new session. Raises SignInExpired, AccountSuspended.

    Of two requests with the same link the second waits for the account, and then finds the link used up.
    """
    user = accounts.locked(attempts.of_link(token))
    attempts.take_link(token)
    _require_active(user)
    audit.record(events.USER_SIGNED_IN_BY_LINK, by=Caller(user.id, user.username, user.role), user_id=user.id)
    return user, sessions.begin(user.id, user_agent=user_agent)


def _require_active(user: User) -> None:
    if user.deleted_at is not None:
        raise AccountDeleted
    if user.status == AccountStatus.SUSPENDED:
        raise AccountSuspended
