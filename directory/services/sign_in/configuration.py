"""The providers of the settings. If there are none, nothing that they need is imported."""

from collections.abc import Sequence
from threading import BoundedSemaphore
from typing import Any

from directory.services.sign_in.provider import Provider

PLACES = 4  # at most so many requests wait for providers at a time


def providers(settings: Sequence[dict[str, Any]], threads: int) -> dict[str, Provider]:
    """The providers by their names. At most half of the `threads` wait for them at a time, and at most PLACES."""
    if not settings:
        return {}
    from directory.services.sign_in.github import GitHub  # Authlib and cryptography take a while
    from directory.services.sign_in.openid import OpenIdProvider
    from directory.services.sign_in.transport import Access

    places = BoundedSemaphore(max(1, min(PLACES, threads // 2)))
    found: dict[str, Provider] = {}
    for each in settings:
        access = Access(each["name"], places)
        found[each["name"]] = GitHub(each, access) if "api" in each else OpenIdProvider(each, access)
    return found
