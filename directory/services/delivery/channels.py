"""The channels: an endpoint gets its deliveries over HTTP, as webhooks, or as mail."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

from directory.services.delivery.claims import Claim, Outcome
from directory.services.delivery.mail import templates
from directory.services.delivery.schedule import Policy
from directory.services.site import NOWHERE, Site

MAIL = "mail"  # the format of the mail server, and its name; no webhook has it where mail is configured
Send = Callable[[Policy], Outcome]


class NotToBeSent(Exception):
    """The delivery is of no use any more. The words are for operators, and name no address."""


@dataclass(frozen=True, slots=True)
class Endpoint(ABC):
    """A configured receiver: its name in the outbox, its address, its format and the events that it wants.

    Its messages link to `site`. The log names its channel.
    """

    channel: ClassVar[str]

    name: str
    url: str = field(repr=False)
    format: str
    events: frozenset[str]
    site: Site = NOWHERE

    @property
    def host(self) -> str:
        """The host of its address, with the port where the address has one."""
        return urlsplit(self.url).netloc.rpartition("@")[2].lower()

    @abstractmethod
    def sending(self, claim: Claim) -> Send:
        """Return a function that sends a claimed delivery once, without the database. Raises NotToBeSent."""


@dataclass(frozen=True, slots=True)
class Webhook(Endpoint):
    """A receiver over HTTP, with its secrets, the newest first."""

    channel: ClassVar[str] = "webhook"

    secrets: tuple[str, ...] = field(default=(), repr=False)

    def sending(self, claim: Claim) -> Send:
        """Return a function that sends the event in the receiver's format."""
        from directory.services.delivery.webhooks import sender  # it loads `requests`: 60 ms and 6 MB

        return partial(sender.send, self, claim)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer(Endpoint):
    """Where mail is handed in. `sender` is a name, which may be empty, and an address.

    `encryption` is `tls` from the first byte, `starttls`, or `none`. `site` always has an address. The first of
    `keys` makes the tokens of links, which the outbox does not hold; those that the others made are still accepted.
    """

    channel: ClassVar[str] = MAIL

    host_name: str
    port: int
    encryption: str
    sender: tuple[str, str]
    user: str = field(repr=False)
    password: str = field(repr=False)
    keys: tuple[bytes, ...] = field(repr=False)

    @property
    def key(self) -> bytes:
        """The key that makes tokens."""
        return self.keys[0]

    def sending(self, claim: Claim) -> Send:
        """Return a function that sends the mail. Its recipient and text are read now. Raises NotToBeSent."""
        from directory.services.delivery.mail import messages, smtp  # these import this module

        return partial(smtp.send, messages.of_claim(claim, self), self)


def stable_name(url: str) -> str:
    """The name of an endpoint without a configured one: host and a hash, because the path may be a secret."""
    digest = hashlib.sha256(url.encode()).hexdigest()[:12]
    return f"{urlsplit(url).hostname}-{digest}"


def mail_server(settings: Mapping[str, Any] | None, site_name: str, keys: Sequence[str]) -> MailServer | None:
    """The mail server of the settings; None if no mail is sent. The keys make and accept the tokens of links."""
    if settings is None:
        return None
    given = dict(settings)
    site = Site(site_name, given.pop("site_url"))
    host = f"[{given['host_name']}]" if ":" in given["host_name"] else given["host_name"]
    url = f"smtp://{host}:{given['port']}"
    events = frozenset(templates.OF_DECISIONS)
    return MailServer(MAIL, url, MAIL, events, site, keys=tuple(key.encode() for key in keys), **given)
