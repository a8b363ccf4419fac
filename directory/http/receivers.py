"""What rules get from the application: the receivers of events, the mail server, and who judges what is submitted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import current_app

from directory.errors import NotFound
from directory.http import account_limits
from directory.services.delivery.channels import Endpoint, MailServer
from directory.services.drafts import Judge


def subscribers() -> list[Endpoint]:
    """The receivers of events: the webhook endpoints, and the mail server."""
    return current_app.extensions["webhooks"]  # type: ignore[no-any-return]


def configured_mail_server() -> MailServer | None:
    """The mail server; None if no mail is sent."""
    return current_app.extensions["mail_server"]  # type: ignore[no-any-return]


def judge() -> Judge | None:
    """What judges submissions, edits and registrations; None if no extra does."""
    return current_app.extensions["judge"]  # type: ignore[no-any-return]


@contextmanager
def notifying(user: Any) -> Iterator[MailServer | None]:
    """The mail server, by which the block notifies the account of a change. An unconfirmed address gets few mails."""
    server = configured_mail_server()
    if server is None or user.email_verified:
        yield server
        return
    with account_limits.mailing(user.email, user.id) as may_mail:
        yield server if may_mail else None


def mail_server(**_path: Any) -> MailServer:
    """The mail server. Raises NotFound if no mail is sent, as if the routes that need one did not exist."""
    server = configured_mail_server()
    if server is None:
        raise NotFound
    return server
