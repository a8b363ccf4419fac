"""Ways back into an account by mail. All of it is absent where no mail is sent."""

from typing import Any

from flask import Blueprint

from directory.api.mail_server import mail_server
from directory.api.password_checks import few_at_once
from directory.api.schemas.recovery import ForgotInput, ResetInput, VerifyInput
from directory.db.transactions import transaction
from directory.errors import Duplicate, NotFound
from directory.http import account_limits
from directory.http.access import login_required, public
from directory.http.authentication import caller
from directory.http.endpoint import operation
from directory.services.accounts import accounts, recovery, subscriptions

bp = Blueprint("recovery", __name__, url_prefix="/api/auth")


@bp.post("/password/forgot")
@public
@operation(body=ForgotInput(), body_required=True, status=202, tier="recovery", transactional=False, raises=(NotFound,))
def forgot(body: dict[str, Any]) -> Any:
    """Ask for a new password.

    A link is mailed to the address of the account. The answer is the same whether there is such an account or not, and
    whether a link is mailed: at most three an hour are. The link works once, within 30 minutes.
    """
    server, user = mail_server(), accounts.find(body["login"])
    accounts.release()  # what was read stays readable; to read it anew would tell a known login by its time
    is_allowed = account_limits.may_mail(user.email if user else body["login"], user.id if user else None)
    transaction(lambda: recovery.forgot(user if is_allowed else None, server))


@bp.post("/password/reset")
@public
@operation(body=ResetInput(), body_required=True, status=204, tier="recovery", transactional=False, raises=(NotFound,))
@few_at_once
def reset(body: dict[str, Any]) -> Any:
    """Choose a new password.

    It takes the token of a mailed link, which works once, and ends all sessions of the account. Its API tokens stay,
    unless `revoke_tokens` says otherwise. A notice is mailed to the account's address. A password
    that is refused leaves the link as it is.
    """
    server = mail_server()
    user = recovery.owner_of(body["token"])
    accounts.release()
    hashed = accounts.prepare_password(body["password"], username=user.username, email=user.email)
    revoke_tokens = body.get("revoke_tokens", False)
    transaction(lambda: recovery.reset(body["token"], hashed, revoke_tokens=revoke_tokens, server=server))


@bp.post("/email/verify")
@public
@operation(body=VerifyInput(), body_required=True, status=204, tier="recovery", raises=(NotFound, Duplicate))
def verify(body: dict[str, Any]) -> Any:
    """Confirm an e-mail address.

    It takes the token of a mailed link, which works once, within 24 hours. A new address replaces the one before, to
    which a notice is mailed.
    """
    recovery.verify(body["token"], mail_server())


@bp.post("/email/verification")
@login_required
@operation(status=202, raises=(NotFound,))
def send_verification() -> Any:
    """Have the link mailed again that confirms one's e-mail address.

    Nothing is mailed where the address is confirmed already.
    """
    server, user = mail_server(), accounts.get(caller().id)
    if not user.email_verified:
        account_limits.spend_on_mail(user.email, user.id)
        recovery.ask_to_verify(user, server)


@bp.post("/notifications/<token>")
@public
@operation(status=204, tier="recovery", any_body=True, raises=(NotFound,))
def switch_off(token: str) -> Any:
    """Switch mail about decisions off, by the link in such a mail.

    Mail programs call it with one click (RFC 8058), with a body of their own. It needs no signing in.
    """
    subscriptions.switch_off(token, mail_server().keys)
