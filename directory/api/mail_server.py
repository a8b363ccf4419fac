"""The mail server of the application, for the routes that need one."""

from flask import current_app

from directory.errors import NotFound
from directory.services.mail.server import MailServer


def configured() -> MailServer | None:
    """The mail server; None where no mail is sent."""
    servers = (one for one in current_app.extensions["webhooks"] if isinstance(one, MailServer))
    return next(servers, None)


def mail_server() -> MailServer:
    """The mail server. Raises NotFound where no mail is sent, so that what needs it is absent."""
    found = configured()
    if found is None:
        raise NotFound
    return found
