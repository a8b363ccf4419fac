"""The configured mail server, which the outbox treats as one more endpoint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from directory.services.delivery.outbox import MAIL, MAIL_ACTORS, Endpoint
from directory.services.site import Site

EVENTS = frozenset({"project.approved", "project.rejected", "project.unpublished", *MAIL_ACTORS})


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer(Endpoint):
    """Where mail is handed in. `sender` is a name, which may be empty, and an address.

    `encryption` is `tls` from the first byte, `starttls`, or `none`. `site` always has an address. The first of
    `keys` makes the tokens of links, which the outbox does not hold; those that the others made are still accepted.
    """

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


def mail_servers(settings: Mapping[str, Any] | None, site_name: str, keys: Sequence[str]) -> list[MailServer]:
    """The mail server of the settings; none where no mail is sent. The keys make and accept the tokens of links."""
    if settings is None:
        return []
    given = dict(settings)
    site = Site(site_name, given.pop("site_url"))
    host = f"[{given['host_name']}]" if ":" in given["host_name"] else given["host_name"]
    url = f"smtp://{host}:{given['port']}"
    return [MailServer(url, (), MAIL, EVENTS, site, MAIL, keys=tuple(key.encode() for key in keys), **given)]
