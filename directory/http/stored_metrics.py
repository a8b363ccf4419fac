"""The metrics that are read from the database at each scrape. It is imported by the first: see `metrics`."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from flask import current_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric
from sqlalchemy.exc import SQLAlchemyError

from directory.db import clock
from directory.extensions import db
from directory.models import now
from directory.services import build, health
from directory.services.delivery.channels import MAIL


class Stored:
    """The counts in the database, read at each scrape: exact, and the same in every process.

    If the database does not answer in time, a scrape leaves them out.
    """

    def collect(self) -> Iterator[Metric]:
        """The build, the outbox by state, and the submissions and decisions in the audit log."""
        built = {name: value or "" for name, value in build.described().items()}
        yield InfoMetricFamily("directory_build", "The build of the service.", value=built)
        yield from _of_this_host()
        config, gauges = current_app.config, current_app.extensions["gauges"]
        settings = {"audit_days": config["AUDIT_RETENTION"], "approvals_required": config["APPROVALS_REQUIRED"]}
        settings["gauges"] = {name: gauge.count() for name, gauge in gauges.items()}
        ask = health.Bounded(partial(health.ledger, db.engine, **settings), health.SCRAPE_SECONDS)
        try:
            ledger = current_app.extensions.setdefault("ledger", ask)()
        except (SQLAlchemyError, TimeoutError):
            return
        yield from _outbox(ledger)
        yield GaugeMetricFamily(
            "directory_overdue_delivery_seconds",
            "How long the longest overdue delivery has been waiting for a deliverer to take it up; 0: none.",
            value=_age(ledger.due),
        )
        yield GaugeMetricFamily(
            "directory_oldest_transaction_seconds",
            "Age of the oldest open PostgreSQL transaction that has written or locked something; 0: none.",
            value=_age(ledger.transaction),
        )
        decisions = CounterMetricFamily("directory_decisions", "Decisions of the review.", labels=["decision"])
        for event, number in ledger.actions.items():
            if event.decision:
                decisions.add_metric([event.word], number)
        yield decisions
        submitted = sum(number for event, number in ledger.actions.items() if not event.decision)
        yield CounterMetricFamily("directory_submissions", "Projects submitted.", value=submitted)
        text = "Pending projects that wait for review, and not for their owners."
        yield GaugeMetricFamily("directory_pending_projects", text, value=ledger.pending)
        yield GaugeMetricFamily(
            "directory_oldest_pending_seconds",
            "How long the project or revision that was submitted first has waited for review; 0: none.",
            value=_age(ledger.pending_since),
        )
        text = "Projects and revisions with some approvals, and fewer than are required."
        yield GaugeMetricFamily("directory_approvals_pending", text, value=ledger.partly_approved)
        yield GaugeMetricFamily(
            "directory_overdue_purge_seconds",
            "For how long the row that expired first should have been deleted; 0: none.",
            value=_age(ledger.expired_since),
        )
        for name, rows in ledger.gauges.items():
            yield _of_extra(name, gauges[name], rows)
        yield _by_label("directory_accounts", "Accounts by status.", "status", ledger.accounts)
        text = "What rules have matched while they were dry or on, by the name and the present state of each."
        matches = CounterMetricFamily("directory_rule_matches", text, labels=["rule", "state"])
        for rule, state, number in ledger.rule_matches:
            matches.add_metric([rule, state], number)
        yield matches
        text = "Active accounts that may review: reviewers and administrators."
        yield GaugeMetricFamily("directory_reviewers", text, value=ledger.reviewers)
        yield from _connections(ledger)


def _of_this_host() -> Iterator[Metric]:
    """Facts for which the database is not asked."""
    skew = "By how many seconds the clock of this host is ahead of PostgreSQL's; 0 on SQLite."
    yield GaugeMetricFamily("directory_clock_skew_seconds", skew, value=clock.skew())
    read_only = "1 while READ_ONLY is set."
    yield GaugeMetricFamily("directory_read_only", read_only, value=float(current_app.config["READ_ONLY"]))
    metrics = current_app.extensions["metrics"]
    text = "When the server started or reloaded."
    yield GaugeMetricFamily("directory_start_time_seconds", text, value=metrics.started)
    text = "Processes that ended without a request to, and were started again, by kind."
    crashes = CounterMetricFamily("directory_crashes", text, labels=["process"])
    for kind, number in metrics.crashes.counts().items():
        crashes.add_metric([kind], number)
    yield crashes


def _outbox(ledger: health.Ledger) -> Iterator[Metric]:
    """Webhooks and mails by state, 0 if none are sent, and the age of the oldest pending one, for each receiver.

    Of the mails given up, those are `dead` that the mail server did not take; the others are `refused`.
    """
    yield _by_label("directory_deliveries", "Webhook deliveries by state.", "state", ledger.deliveries)
    configured = {endpoint.name for endpoint in current_app.extensions["webhooks"] if endpoint.format != MAIL}
    ages = {name: _age(ledger.oldest.get(name)) for name in sorted({*configured, *ledger.oldest} - {MAIL})}
    text = "Age of the oldest pending delivery of an endpoint; 0: none."
    yield _by_label("directory_oldest_delivery_seconds", text, "endpoint", ages)
    mails = {**ledger.mails, "dead": ledger.failed_mails, "refused": ledger.mails["dead"] - ledger.failed_mails}
    yield _by_label("directory_mails", "Mails by state.", "state", mails)
    oldest_mail = _age(ledger.oldest.get(MAIL))
    yield GaugeMetricFamily("directory_oldest_mail_seconds", "Age of the oldest pending mail; 0: none.", oldest_mail)


def _connections(ledger: health.Ledger) -> Iterator[Metric]:
    """The connections to PostgreSQL; all 0 on SQLite, which has none."""
    connections = ledger.connections
    counts = {state: getattr(connections, state) for state in ("active", "idle", "in_transaction", "unknown")}
    yield _by_label("directory_database_connections", "Connections to PostgreSQL.", "state", counts)
    text = "How many connections PostgreSQL allows."
    yield GaugeMetricFamily("directory_database_connections_max", text, value=connections.most)


def _by_label(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for word, value in values.items():
        family.add_metric([word], value)
    return family


def _of_extra(name: str, gauge: Any, rows: list[tuple[Any, ...]]) -> Metric:
    if not gauge.label:
        return GaugeMetricFamily(name, gauge.text, value=float(rows[0][0]))
    family = CounterMetricFamily(name, gauge.text, labels=[gauge.label])
    for value, number in rows:
        family.add_metric([value], number)
    return family


def _age(since: datetime | None) -> float:
    return max(0.0, (now() - since).total_seconds()) if since else 0.0
