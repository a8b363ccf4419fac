"""The mail server of the application, for the routes that need one."""

from typing import Any

from flask import current_app

from directory.errors import NotFound
from directory.http import account_limits
from directory.models import User
from directory.services.delivery.channels import MailServer


def configured() -> MailServer | None:
    """The mail server; None if no mail is sent."""
    return current_app.extensions["mail_server"]  # type: ignore[no-any-return]


def notifier(user: Any) -> MailServer | None:
    """The mail server, which notifies the account of a change. An unconfirmed address gets few mails."""
    server = configured()
    may_mail = server is not None and (user.email_verified or account_limits.may_mail(user.email, user.id))
    return server if may_mail else None


def mail_server() -> MailServer:
    """The mail server. Raises NotFound if no mail is sent, as if the routes that need one did not exist."""
    found = configured()
    if found is None:
        raise NotFound
    return found


def confirming(email: str | None, user: User) -> MailServer | None:
    """The mail server, where a change of the user's address has to be confirmed by a link."""
    return None if email in (None, user.email) else configured()
