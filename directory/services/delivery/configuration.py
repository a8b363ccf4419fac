"""The receivers of the settings: the webhook endpoints, and the mail server."""

from collections.abc import Mapping, Sequence
from typing import Any

from directory import events
from directory.language.choice import PLAIN, Languages
from directory.services.delivery.channels import MAIL, MailServer, Webhook, stable_name
from directory.services.site import Site


def webhooks(settings: Sequence[Mapping[str, Any]], site: Site) -> list[Webhook]:
    """The webhook endpoints of the settings, whose messages link to the site."""
    return [
        Webhook(
            each["name"] or stable_name(each["url"]), each["url"], each["format"], frozenset(each["events"]), site,
            tuple(each["secrets"]), each["names"],
        )
        for each in settings
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
    given = dict(settings)
    site = Site(site_name, given.pop("site_url"))
    host = f"[{given['host_name']}]" if ":" in given["host_name"] else given["host_name"]
    url = f"smtp://{host}:{given['port']}"
    wanted = frozenset(each for each in events.TABLE if each.mail and each.startswith("project."))
    return MailServer(
        MAIL, url, MAIL, wanted, site, keys=tuple(key.encode() for key in keys), languages=languages, **given
    )
