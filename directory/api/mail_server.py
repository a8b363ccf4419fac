"""The mail server of the application, for the routes that need one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import current_app

from directory.errors import NotFound
from directory.http import account_limits
from directory.services.delivery.channels import MailServer


def configured() -> MailServer | None:
    """The mail server; None if no mail is sent."""
    return current_app.extensions["mail_server"]  # type: ignore[no-any-return]


@contextmanager
def notifying(user: Any) -> Iterator[MailServer | None]:
    """The mail server, by which the block notifies the account of a change. An unconfirmed address gets few mails."""
    server = configured()
    if server is None or user.email_verified:
        yield server
        return
    with account_limits.mailing(user.email, user.id) as may_mail:
        yield server if may_mail else None


def mail_server() -> MailServer:
    """The mail server. Raises NotFound if no mail is sent, as if the routes that need one did not exist."""
    found = configured()
    if found is None:
        raise NotFound
    return found
