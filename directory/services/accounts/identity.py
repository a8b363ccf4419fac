"""The caller: the value that every rule takes as `by` or `viewer`."""

from dataclasses import dataclass

from directory.models import Role


@dataclass(frozen=True, slots=True)
class Caller:
    """An active user as of this request, and the session or token that proves it.

    It has the attributes that Flask-Login asks of a user, and is a value rather than a row: nothing of it is
    loaded again when the transaction that authenticated it ends.
    """

    id: int
    username: str
    role: str
    session_id: int | None = None
    token_id: int | None = None

    is_authenticated = True
    is_active = True
    is_anonymous = False

    @property
    def is_admin(self) -> bool:
        """True exactly when the role is admin."""
        return self.role == Role.ADMIN

    def get_id(self) -> str:
        """The user's id as text, as Flask-Login wants it."""
        return str(self.id)
