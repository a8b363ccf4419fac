"""The export of the caller's data, and the deletion of the caller's account."""

from typing import Any

from flask import Blueprint

from directory.api.schemas.accounts import DeletionInput, Export
from directory.db.transactions import transaction
from directory.errors import LastAdmin, PasskeyRequired, SignInAgain, TooManyProjects, TooManyVotes
from directory.http.access import for_unconfirmed, login_required, needs_passkey, shows_reviewers
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.password_checks import confirm_password, missing_password
from directory.http.receivers import subscribers
from directory.http.signing_in import signed_out
from directory.http.validation import Errors, JsonBody
from directory.language.messages import _
from directory.services import permissions
from directory.services.people import account_deletion, account_export

bp = Blueprint("account", __name__, url_prefix="/api/auth/me")


def _refused(body: dict[str, Any]) -> Errors:
    return missing_password(body, _("Missing data for required field."))


@bp.delete("")
@login_required
@for_unconfirmed
@documented(
    optional_headers=("Set-Cookie",), raises=(LastAdmin, TooManyProjects, TooManyVotes, SignInAgain, PasskeyRequired),
)  # fmt: skip
@operation(body=JsonBody(DeletionInput(), check=_refused), status=204, transactional=False)
def delete(body: dict[str, Any]) -> Any:
    """Delete the caller's account.

    Sessions, tokens, votes, and pending and rejected projects are deleted. Live projects stay, and their owner is then
    called `deleted-[id]`. Others can take the username and the e-mail address. All of this happens or nothing, and it
    cannot be undone. A wrong password counts as a wrong login does. An account without a password, which a provider
    opened, needs a session that was opened in the last ten minutes instead, and so does each where passwords are off.
    """
    if permissions.needs_passkey(caller()):
        raise needs_passkey()
    by, known = caller(), confirm_password(body.get("current_password")).password_hash
    transaction(lambda: account_deletion.delete_account(by=by, known_hash=known, notify=subscribers()))
    return signed_out(by)


@bp.get("/export")
@login_required
@documented(headers=("Content-Disposition",))
@operation(answer=Export(), tier="read")
def export() -> Any:
    """Export the caller's data.

    The file has the account, its projects with the history that their owner may see, the messages about them, its
    votes and sessions, the names of its tokens, and the providers and passkeys by which its user signs in.
    """
    name = f'attachment; filename="project-directory-{caller().username}.json"'
    data = account_export.export(caller(), naming=shows_reviewers())
    return data, {"Content-Disposition": name, "Cache-Control": "private, no-store"}
