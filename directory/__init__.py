"""The Project Directory Service."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from flask import Flask

from directory import cli, extras, logs, pages
from directory.api import (
    account_deletion,
    admin,
    auth,
    logos,
    messages,
    projects,
    public,
    recovery,
    review,
    session,
    system,
)
from directory.cache import middleware
from directory.db import deadline, engine
from directory.extensions import db, migrate
from directory.http import (
    access,
    authentication,
    converters,
    files,
    hooks,
    languages,
    metrics,
    problem_details,
    rate_limits,
    site_dir,
)
from directory.http.wsgi import behind_proxies
from directory.services import health
from directory.services.accounts import sessions
from directory.services.delivery import channels
from directory.services.site import Site


def create_app(config: Mapping[str, Any]) -> Flask:
    """The application for checked settings, as `config.load` makes them. Opens no connection."""
    app = converters.Synchronous(__name__, static_folder=None)
    app.config.from_mapping(config)
    # The first signs; what any of them has signed is accepted.
    app.config["SECRET_KEYS"] = keys = (config["SECRET_KEY"], *config["SECRET_KEY_FALLBACKS"])
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine.engine_options(
        config["SQLALCHEMY_DATABASE_URI"], threads=config["THREADS"]
    )
    app.extensions["languages"] = languages.configured(config)
    app.extensions["synonyms"] = site_dir.synonyms(config["SITE_DIR"])
    logs.configure(config["LOG_LEVEL"], config["LOG_FORMAT"], colours=config["LOG_COLOURS"])
    db.init_app(app)
    with app.app_context():
        engine.configure(db.engine)
        sessions.set_policy(db.engine, _policy(config))
    migrate.init_app(app, db, directory=str(health.MIGRATIONS), compare_type=True)
    app.extensions["site"] = site = Site(
        config["SITE_NAME"], config["SITE_URL"], config["SITE_TAGLINE"], config["SITE_LINKS"],
        logo=pages.picture_path(config, "SITE_LOGO"), image=pages.picture_path(config, "SITE_IMAGE"),
        headline=config["SITE_HEADLINE"],
    )  # fmt: skip
    app.extensions["mail_server"] = mail = channels.mail_server(
        config["MAIL"], site.name, keys, app.extensions["languages"]
    )
    app.extensions["webhooks"] = [*channels.webhooks(config["WEBHOOK_ENDPOINTS"], site), *([mail] if mail else [])]
    converters.init_app(app)
    for part in (hooks, authentication, rate_limits, problem_details, metrics):
        part.init_app(app)
    for routes in (
        projects, messages, logos, session, auth, recovery, account_deletion, admin, review, system,
    ):  # fmt: skip
        app.register_blueprint(routes.bp)
    for blueprint in public.BLUEPRINTS:
        app.register_blueprint(blueprint)
    app.extensions["files"] = files.Files(app)
    pages.init_app(app)
    extras.add_to(app)
    access.require_access(app)
    cli.init_app(app)
    middleware.init_app(app)
    app.wsgi_app = deadline.DeadlineMiddleware(app.wsgi_app)  # type: ignore[method-assign]
    if config["TRUSTED_PROXIES"]:
        app.wsgi_app = behind_proxies(app.wsgi_app, config["TRUSTED_PROXIES"])  # type: ignore[method-assign]
    for extra in extras.of(app).values():
        extra.init_app(app)
    return app


def _policy(config: Mapping[str, Any]) -> sessions.Policy:
    """What the settings demand of sessions and tokens."""
    hours = config["SESSION_HOURS"]
    return sessions.Policy(
        passkeys_needed=config["REQUIRE_PASSKEY"] != "none",
        provider_lifetime=sessions.LIFETIME if hours is None else timedelta(hours=hours),
        passwords=config["PASSWORDS"] == "on",
    )
