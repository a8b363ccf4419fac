"""The pages of the site: HTML that the server makes, complete without JavaScript.

They are for people: they pass over unknown query parameters and are not in the OpenAPI document. A page route is like a
route of the API. It has an access rule and an operation with cache tags, and calls the same services.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from flask import Flask

from directory.http import headers, languages
from directory.pages import (
    account,
    addresses,
    best,
    build,
    crawlers,
    errors,
    language,
    layout,
    mailed_links,
    mine,
    own,
    project,
    reading,
    shells,
    signing_in,
    submitting,
)

PICTURES = {"SITE_LOGO": "logo", "SITE_IMAGE": "image"}

__all__ = [
    "account",
    "best",
    "errors",
    "init_app",
    "language",
    "mine",
    "project",
    "reading",
    "shells",
    "signing_in",
    "submitting",
]


def init_app(app: Flask) -> None:
    """Add the pages, or with WEB_ENABLED=false one short page instead. Raises SiteError."""
    with_pages = app.config["WEB_ENABLED"]
    folder = app.config["SITE_DIR"] if with_pages else ""
    own_site = own.read(folder, headers.of_app(app).public, languages.of_app(app))
    app.extensions["own_site"] = own_site
    pictures = {_picture_name(app.config, name): app.config[name].content for name in PICTURES if app.config[name]}
    built = build.of_operator(build.load(), app.config["SITE_ACCENT"], pictures) if with_pages else build.Build()
    app.extensions["web_build"] = built
    layout.init_app(app)
    app.register_blueprint(crawlers.bp)
    app.register_blueprint(mailed_links.bp)
    app.register_blueprint(layout.bp if with_pages else shells.short)
    if app.config["SITE_DIR"] and with_pages:
        own.use(app, own_site)
        app.register_blueprint(own.routes(app, own_site))
        app.extensions["open_pages"] = own.open_pages(app, own_site)
        own.try_out(app)
    if with_pages:
        app.register_blueprint(addresses.routes({page.name for page in own_site.pages}))
    if with_pages:
        for rule, find in ((shells.ASSETS, shells.find_asset), (own.FILES, own.find_file)):
            app.extensions["files"].add(rule, partial(find, app))


def picture_path(config: Mapping[str, Any], name: str) -> str:
    """The address of the picture of a setting; empty if there is none, or no pages that show it."""
    return f"/assets/{_picture_name(config, name)}" if config[name] and config["WEB_ENABLED"] else ""


def _picture_name(config: Mapping[str, Any], name: str) -> str:
    picture = config[name]
    return build.hashed(PICTURES[name], picture.content, picture.suffix)
