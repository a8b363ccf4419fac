"""Sends a claimed delivery by the channel of its endpoint."""

from collections.abc import Callable
from functools import partial
from typing import cast

from directory.services.delivery.channels import Endpoint, MailServer, Webhook
from directory.services.delivery.claims import Claim, Outcome
from directory.services.delivery.mail import messages, smtp
from directory.services.delivery.schedule import DeliveryPolicy

Send = Callable[[DeliveryPolicy], Outcome]


def prepared(endpoint: Endpoint, claim: Claim) -> Send:
    """Return a function that sends a claimed delivery once, without the database.

    The recipient and the text of a mail are read now. Raises NotToBeSent.
    """
    if isinstance(endpoint, MailServer):
        return partial(smtp.send, messages.of_claim(claim, endpoint), endpoint)
    from directory.services.delivery.webhooks import sender  # it loads `requests`: 60 ms and 6 MB

    return partial(sender.send, cast("Webhook", endpoint), claim)
