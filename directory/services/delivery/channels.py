"""The channels: an endpoint gets its deliveries over HTTP, as webhooks, or as mail. `deliverer.prepared` sends them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from directory import events
from directory.language.choice import PLAIN, Languages
from directory.services.site import NOWHERE, Site

MAIL = "mail"  # the format of the mail server, and its name, which no webhook has


class NotToBeSent(Exception):
    """The delivery is of no use any more. The words are for operators, and name no address."""


@dataclass(frozen=True, slots=True)
class Endpoint:
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


@dataclass(frozen=True, slots=True)
class Webhook(Endpoint):
    """A receiver over HTTP, with its secrets, the newest first; without `names` it does not learn who decided."""

    channel: ClassVar[str] = "webhook"

    secrets: tuple[str, ...] = field(default=(), repr=False)
    names: bool = True


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
    languages: Languages = field(default=PLAIN, repr=False)

    @property
    def key(self) -> bytes:
        """The key that makes tokens."""
        return self.keys[0]


def stable_name(url: str) -> str:
    """The name of an endpoint without a configured one: host and a hash, because the path may be a secret."""
    digest = hashlib.sha256(url.encode()).hexdigest()[:12]
    return f"{urlsplit(url).hostname}-{digest}"


def webhooks(settings: Sequence[Mapping[str, Any]], site: Site) -> list[Webhook]:
    """The webhook endpoints of the settings, whose messages link to the site."""
    return [
        Webhook(
            hook["name"] or stable_name(hook["url"]), hook["url"], hook["format"], frozenset(hook["events"]), site,
            tuple(hook["secrets"]), hook["names"],
        )
        for hook in settings
    ]  # fmt: skip


def mail_server(
    settings: Mapping[str, Any] | None,
    site_name: str,
    keys: Sequence[str],
    languages: Languages = PLAIN,
) -> MailServer | None:
    """The mail server of the settings; None if no mail is sent. The keys make and accept the tokens of links.

    It wants the events whose mails are for the owners of projects; extras may add others.
    """
    if settings is None:
        return None
    rest = dict(settings)
    site = Site(site_name, rest.pop("site_url"))
    host = f"[{rest['host_name']}]" if ":" in rest["host_name"] else rest["host_name"]
    url = f"smtp://{host}:{rest['port']}"
    wanted = frozenset(event for event in events.TABLE if event.mail and event.startswith("project."))
    return MailServer(
        MAIL, url, MAIL, wanted, site, keys=tuple(key.encode() for key in keys), languages=languages, **rest
    )
