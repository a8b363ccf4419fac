"""Receivers of webhooks. Each function raises ValueError; no reason repeats an address, for a chat's is a secret."""

import re
from typing import Any

from settings.values import json_objects, web_address

DEFAULT_EVENTS = ("project.approved",)
NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}")


def endpoints(value: str) -> list[dict[str, Any]]:
    """The endpoints of a JSON list, each with its defaults."""
    from directory.services.delivery.channels import stable_name

    found = [_endpoint(one) for one in json_objects(value)]
    if len({one["url"] for one in found}) < len(found):
        raise ValueError("names one url twice")
    # A configured name must also differ from those that the service makes of addresses.
    names = [one["name"] or stable_name(one["url"]) for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two endpoints have the name {name}")
    return found


def _endpoint(given: dict[str, Any]) -> dict[str, Any]:
    """One endpoint with its defaults."""
    if given.keys() - {"name", "url", "secret", "format", "events", "names"}:
        raise ValueError("an endpoint must have no members other than name, url, secret, format, events and names")
    name = given.get("name", "")
    if not isinstance(name, str) or ("name" in given and not NAME.fullmatch(name)):
        raise ValueError(
            "an endpoint's name must be 1 to 64 characters of a-z, A-Z, 0-9, ., _ and -, "
            "and must not begin with ., _ or -"
        )
    style = format_name(given.get("format", "standard"))
    names = given.get("names", True)
    if not isinstance(names, bool):
        raise ValueError("an endpoint's names must be true or false")
    events = _events(given.get("events", list(DEFAULT_EVENTS)))
    url = address(given.get("url", ""))  # first: its errors explain the rest
    secret = given.get("secret", [])
    listed = signing_secrets([secret] if isinstance(secret, str) else secret, style)
    return {"name": name, "url": url, "format": style, "events": events, "secrets": listed, "names": names}


def _events(value: Any) -> list[str]:
    """The names of events."""
    from directory.events import WEBHOOK_TEST, WEBHOOKS

    known = sorted({*WEBHOOKS} - {WEBHOOK_TEST})
    if not isinstance(value, list) or not value or not all(event in known for event in value):
        raise ValueError(f"an endpoint's events must be a list of {', '.join(known)}")
    return value


def format_name(value: Any) -> str:
    """The name of a format."""
    from directory.services.delivery.webhooks.formats import FORMATS

    if not isinstance(value, str) or value not in FORMATS:
        raise ValueError(f"an endpoint's format must be one of {', '.join(sorted(FORMATS))}")
    return value


def address(value: str) -> str:
    """The http or https address of a receiver."""
    if web_address(value) is None:
        raise ValueError("an endpoint's url must be an http or https address")
    return value


def signing_secrets(given: Any, style: str) -> list[str]:
    """The secrets of an endpoint, the newest first; those that sign must be base64, as Standard Webhooks has them."""
    from directory.services.delivery.webhooks.formats import FORMATS, key_of

    signed = FORMATS[style].signed
    if not isinstance(given, list) or not all(isinstance(secret, str) and secret.strip() for secret in given):
        raise ValueError("a secret must be a text, or a list of texts with the newest first")
    listed = [secret.strip() for secret in given]
    if signed and not listed:
        raise ValueError(f"an endpoint of format {style} needs a secret")
    try:
        if signed:
            list(map(key_of, listed))
    except ValueError:
        raise ValueError(f"a secret of format {style} is base64, with or without whsec_ before it") from None
    return listed
