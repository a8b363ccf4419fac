"""Ways back into an account by mail. All of it is absent if no mail is sent."""

from contextlib import nullcontext
from typing import Any

from flask import Blueprint

from directory.api.schemas.accounts import ForgotInput, ResetInput, VerifyInput
from directory.db.transactions import transaction
from directory.errors import Duplicate, NotFound, PasswordsOff
from directory.http import account_limits
from directory.http.access import for_unconfirmed, login_required, public
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.password_checks import among_few, require_passwords
from directory.http.receivers import mail_server, notifying
from directory.http.validation import UNREAD, JsonBody
from directory.services.accounts import accounts, mail_links
from directory.services.sign_in import recovery

bp = Blueprint("recovery", __name__, url_prefix="/api/auth")


def _require_reset(**_path: Any) -> None:
    """Raise PasswordsOff, or NotFound where no mail is sent."""
    require_passwords()
    mail_server()


@bp.post("/password/forgot")
@public
@documented(raises=(NotFound, PasswordsOff))
@operation(body=JsonBody(ForgotInput()), status=202, tier="recovery", transactional=False, when=_require_reset)
def forgot(body: dict[str, Any]) -> Any:
    """Ask for a new password.

    A link is mailed to the address of the account, at most three times an hour. It works once, within 30 minutes. The
    answer does not show whether the account exists or whether a link was mailed.
    """
    server, user = mail_server(), accounts.find(body["login"])
    accounts.release()  # loaded rows stay readable; reading them again would reveal a known login by its time
    known = recovery.reachable(user)
    address, account_id = (known.email, known.id) if known else (accounts.canonical_login(body["login"]), None)
    with account_limits.mailing(address, account_id, is_mailed=known is not None) as may_mail:
        transaction(lambda: recovery.forgot(known if may_mail else None, server))


@bp.post("/password/reset")
@public
@documented(raises=(NotFound, PasswordsOff))
@operation(body=JsonBody(ResetInput()), status=204, tier="recovery", transactional=False, when=_require_reset)
@among_few()
def reset(body: dict[str, Any]) -> Any:
    """Choose a new password.

    It needs the token of a mailed link, which works once. All sessions of the account end; its API tokens stay unless
    `revoke_tokens` is true. A notice is mailed to the account's address. If the password is refused, the link still
    works.
    """
    server = mail_server()
    user = recovery.owner_of(body["token"])
    accounts.release()
    hashed = accounts.prepare_password(body["password"], username=user.username, email=user.email)
    revoke_tokens = body.get("revoke_tokens", False)
    transaction(lambda: recovery.reset(body["token"], hashed, revoke_tokens=revoke_tokens, server=server))
    account_limits.give_back_link()
    account_limits.remember_address(user.username, user.email)


@bp.post("/email/verify")
@public
@documented(raises=(NotFound, Duplicate))
@operation(body=JsonBody(VerifyInput()), status=204, tier="recovery", transactional=False, when=mail_server)
def verify(body: dict[str, Any]) -> Any:
    """Confirm an e-mail address.

    It needs the token of a mailed link, which works once, within 24 hours. A new address replaces the old one, to which
    a notice is mailed.
    """
    server, replaced = mail_server(), recovery.replaced_by(body["token"])
    accounts.release()
    with nullcontext(server) if replaced is None else notifying(replaced) as notifier:
        transaction(lambda: recovery.verify(body["token"], notifier))
    account_limits.give_back_link()


@bp.post("/email/verification")
@login_required
@for_unconfirmed
@documented(raises=(NotFound,))
@operation(status=202, when=mail_server)
def send_verification(next_path: str | None = None) -> Any:
    """Mail the link that confirms the caller's e-mail address again.

    If the address is confirmed already, nothing is mailed.
    """
    server, user = mail_server(), accounts.get(caller().id)
    if not user.email_verified:
        with account_limits.mailing(user.email, user.id, refuses=True):
            recovery.ask_to_verify(user, server, next_path=next_path)


@bp.post("/notifications/<token>")
@public
@documented(raises=(NotFound,))
@operation(status=204, tier="recovery", body=UNREAD, when=mail_server)
def switch_off(token: str) -> Any:
    """Switch off mail about decisions, by the link in such a mail.

    Mail programs call it with one click (RFC 8058), with a body of their own.
    """
    mail_links.unsubscribe(token, mail_server().keys)
