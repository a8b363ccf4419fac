"""flask mail: try the mail server."""

import secrets
import sys
from typing import Any

import click
from flask.cli import AppGroup
from marshmallow import ValidationError

from directory.api.schemas.accounts import Email
from directory.cli.console import refusals, table
from directory.http import receivers
from directory.services.delivery.schedule import DeliveryPolicy

mail = AppGroup("mail", help="Test the mail server.")


def _address(_context: Any, _parameter: Any, text: str) -> str:
    try:
        return str(Email().deserialize(text))
    except ValidationError:
        raise click.BadParameter(f"{text!r} is not an e-mail address") from None


@mail.command("send-test")
@click.argument("address", callback=_address)
@refusals()
def send_test(address: str) -> None:
    """Send a test mail to ADDRESS at once, and show what the mail server answers."""
    from directory.services.delivery.mail import messages, smtp, templates

    server = receivers.configured_mail_server()
    if server is None:
        raise click.ClickException("no mail server is configured: set MAIL_URL and MAIL_FROM")
    test, message_id = templates.test(server.site, server.languages.catalogue()), f"msg_test_{secrets.token_hex(8)}"
    composed = messages.message(test, to=address, server=server, message_id=message_id)
    outcome = smtp.send(composed, server, DeliveryPolicy())
    answer = outcome.response.strip().partition("\n")[0][:60]
    row = (server.host, outcome.status or outcome.error, f"{outcome.milliseconds} ms", answer)
    click.echo(table(("SERVER", "RESULT", "TOOK", "ANSWER"), [row]))
    sys.exit(0 if outcome.delivered else 1)
