"""The configured mail server, which the outbox treats as one more endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from directory.services.site import Site
from directory.services.webhooks.outbox import MAIL, Endpoint

EVENTS = frozenset({"project.approved", "project.rejected", "project.unpublished"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer(Endpoint):
    """Where mail is handed in. `sender` is a name, which may be empty, and an address.

    `encryption` is `tls` from the first byte, `starttls`, or `none`. `site` always has an address. `key` makes the
    tokens of links, which the outbox does not hold.
    """

    host_name: str
    port: int
    encryption: str
    sender: tuple[str, str]
    user: str = field(repr=False)
    password: str = field(repr=False)
    key: bytes = field(repr=False)


def mail_servers(settings: Mapping[str, Any] | None, site_name: str, key: str) -> list[MailServer]:
    """The mail server of the settings; none where no mail is sent. The key makes the tokens of links."""
    if settings is None:
        return []
    given = dict(settings)
    site = Site(site_name, given.pop("site_url"))
    host = f"[{given['host_name']}]" if ":" in given["host_name"] else given["host_name"]
    url = f"smtp://{host}:{given['port']}"
    return [MailServer(url, (), MAIL, EVENTS, site, MAIL, key=key.encode(), **given)]
