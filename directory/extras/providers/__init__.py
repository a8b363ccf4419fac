"""Signing in by OpenID providers and GitHub, and the roles that groups give there."""

from threading import BoundedSemaphore

from flask import Flask

from directory.extras import Extra, Slot
from directory.extras.providers import page, routes
from directory.http.signing_in import providers

PLACES = 4  # at most so many requests wait for providers at a time


def init_app(app: Flask) -> None:
    """Make the providers of the settings. If there are none, nothing that they need is imported.

    At most half of the threads wait for them at a time, and at most PLACES.
    """
    app.extensions["providers"] = by_name = {}
    if not app.config["PROVIDERS"]:
        return
    from directory.extras.providers.github import GitHub  # Authlib and cryptography take a while
    from directory.extras.providers.openid import OpenIdProvider
    from directory.extras.providers.transport import Access

    places = BoundedSemaphore(max(1, min(PLACES, app.config["THREADS"] // 2)))
    for setting in app.config["PROVIDERS"]:
        access = Access(setting["name"], places)
        by_name[setting["name"]] = GitHub(setting, access) if "api" in setting else OpenIdProvider(setting, access)


extra = Extra(
    blueprints=(routes.bp,),
    pages=(page.bp,),
    slots={
        "account_ways": Slot("account_providers.html", page.section, page.SAID),
        "sign_in": Slot("sign_in_providers.html", lambda: {"providers": providers()}, page.FAILURES),
    },
    init_app=init_app,
)
