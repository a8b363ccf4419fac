"""The pages of the site: HTML that the server makes, complete without JavaScript.

They are for people: they pass over unknown query parameters and are not in the OpenAPI document. A page route is like a
route of the API. It has an access rule and an operation with cache tags, and calls the same services.
"""

from flask import Flask

from directory.pages import build, crawlers, errors, layout, member, project, reading, shells, short, signing_in, votes

__all__ = ["errors", "init_app", "member", "project", "reading", "shells", "signing_in", "votes"]


def init_app(app: Flask) -> None:
    """Add the pages, or the one short page that stands in their place where they are not wanted."""
    app.extensions["web_build"] = build.load()
    layout.init_app(app)
    app.register_blueprint(crawlers.bp)
    app.register_blueprint(layout.bp if app.config["WEB_ENABLED"] else short.bp)
