"""The checks of `/readyz`, each in bounded time."""

import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from flask import Flask, current_app
from sqlalchemy.exc import SQLAlchemyError

from directory.db.errors import cause_of
from directory.db.transactions import on_postgresql
from directory.extensions import db, limiter
from directory.http import metrics
from directory.models import now
from directory.services import health
from directory.services.review import approvals

log = logging.getLogger(__name__)
DATABASE_SECONDS = 3.0  # longer than CONNECT_SECONDS, or no connection would be attempted
REDIS_SECONDS = 1.0


def checks() -> tuple[bool, dict[str, Any]]:
    """Whether the service is ready, with the results of the checks."""
    results = {**_database(), "redis": _redis()}
    return results["database"]["ok"] and results["migrations"]["ok"], results


def _database() -> dict[str, Any]:
    state, reason, head, sends_mail = None, None, ", ".join(health.heads()), current_app.config["MAIL"] is not None
    try:
        state = _bounded("database", partial(health.state, db.engine), DATABASE_SECONDS)()
    except (SQLAlchemyError, TimeoutError) as error:
        if (missing := _missing_settings(error)) is not None:
            log.error(missing)
            reason = missing
        else:
            reason = cause_of(error)
            log.warning("the database does not answer", extra={"reason": reason})
    revisions = state.revisions if state else ()
    return {
        "database": {"ok": state is not None, "reason": reason},
        "migrations": {"ok": health.suffices(revisions), "current": ", ".join(revisions) or None, "head": head},
        "webhooks": {"oldest_undelivered_seconds": _age(state and state.undelivered_since)},
        "mail": {"oldest_undelivered_seconds": _age(state and state.unsent_since)} if sends_mail else None,
    }


def _age(since: datetime | None) -> float | None:
    return max(0.0, (now() - since).total_seconds()) if since else None


def _missing_settings(error: BaseException) -> str | None:
    """The settings that sessions behind a connection pooler lack; None if that is not the error."""
    if not on_postgresql():
        return None
    from directory.db.pooler import SettingsMissing  # psycopg is for PostgreSQL alone

    cause = getattr(error, "orig", None)
    return str(cause) if isinstance(cause, SettingsMissing) else None


def _redis() -> dict[str, bool] | None:
    """Whether the rate limits' Redis answers; None if they are in this process's memory or off."""
    if not (current_app.config["REDIS_URL"] and current_app.config["RATELIMIT_ENABLED"]):
        return None
    try:
        answers = bool(_bounded("redis", limiter.storage.check, REDIS_SECONDS)())
    except TimeoutError:
        answers = False
    return {"ok": answers, "fallback": metrics.on_fallback()}


def report(app: Flask) -> None:
    """At the start, log settings that the database lacks, a Redis that does not answer, and too few reviewers."""
    with app.app_context():
        try:
            _bounded("database", partial(health.state, db.engine), DATABASE_SECONDS)()
            _report_reviewers()
        except (SQLAlchemyError, TimeoutError) as error:
            if (missing := _missing_settings(error)) is not None:
                log.error(missing)
        result = _redis()
    if result is not None and not result["ok"]:
        log.warning("Redis does not answer: each process counts rate limits by itself until it does")


def _report_reviewers() -> None:
    """Log the categories in which nothing can be approved, because fewer people may review than have to approve."""
    required = current_app.config["APPROVALS_REQUIRED"]
    short = approvals.short_of_people(required)
    if short:
        slugs = ", ".join(category["slug"] for category in short)
        log.warning("fewer people may review than have to approve", extra={"required": required, "categories": slugs})


def _bounded(name: str, work: Callable[[], Any], seconds: float) -> health.Bounded[Any]:
    """The application's only check of this name."""
    known: dict[str, health.Bounded[Any]] = current_app.extensions.setdefault("probes", {})
    return known.setdefault(name, health.Bounded(work, seconds))
