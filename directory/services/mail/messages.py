"""From an event of the outbox to a message: whom it goes to, and what it says, as of the moment when it is sent.

The outbox holds ids in place of addresses. So an account that is deleted, or an address that has changed, is heeded for
a message that is still to be sent.
"""

import json
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from sqlalchemy import select

from directory.extensions import db
from directory.models import AccountStatus, User, now
from directory.services.mail import letters
from directory.services.mail.letters import Letter
from directory.services.mail.server import MailServer
from directory.services.webhooks.claims import Claim
from directory.services.webhooks.endpoints import TEST

# Its headers raise ValueError for a line break. A server may not take 8 bits.
POLICY = SMTP.clone(cte_type="7bit")


class NotToBeSent(Exception):
    """The message is of no use any more. The words are for operators, and name no address."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to one address. `secrets` are what no excerpt of the server's answer may repeat."""

    to: str
    content: EmailMessage
    secrets: frozenset[str] = frozenset()


def of_claim(claim: Claim, server: MailServer) -> Message:
    """The message for a claimed delivery; one statement. Raises NotToBeSent.

    That also where it cannot be written: a delivery that no try can end would hold up all behind it.
    """
    try:
        return _written(claim, server)
    except (KeyError, TypeError, ValueError) as error:
        raise NotToBeSent(f"no message can be made of it: {type(error).__name__}") from None


def _written(claim: Claim, server: MailServer) -> Message:
    if claim.event != TEST:
        raise NotToBeSent(f"there is no text for {claim.event}")
    user_id = json.loads(claim.payload)["data"]["user"]["id"]
    return message(letters.test(server.site), to=_address(user_id), server=server, message_id=claim.webhook_id)


def message(letter: Letter, *, to: str, server: MailServer, message_id: str) -> Message:
    """A letter with its headers. A repetition has the same Message-ID, by which mail programs tell it."""
    name, address = server.sender
    content = EmailMessage(policy=POLICY)
    content["From"] = Address(name, addr_spec=address)
    content["To"] = Address(addr_spec=to)
    content["Subject"] = letter.subject
    content["Date"] = format_datetime(now())
    content["Message-ID"] = f"<{message_id}@{address.rpartition('@')[2]}>"
    content["Auto-Submitted"] = "auto-generated"
    content.set_content(letter.text)
    return Message(to, content)


def _address(user_id: int) -> str:
    found = db.session.scalar(select(User.email).where(User.id == user_id, User.status == AccountStatus.ACTIVE))
    if found is None:
        raise NotToBeSent("the account is suspended or deleted")
    return found
