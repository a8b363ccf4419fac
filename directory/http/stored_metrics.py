"""The metrics that are read from the database at each scrape. It is imported by the first: see `metrics`."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from flask import current_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric
from sqlalchemy.exc import SQLAlchemyError

from directory.extensions import db
from directory.models import now
from directory.services import build, health

SCRAPE_SECONDS = 3.0


class Stored:
    """The counts in the database, read at each scrape: exact, and the same in every process.

    If the database does not answer in time, a scrape leaves them out.
    """

    def collect(self) -> Iterator[Metric]:
        """The build, the outbox by state, and the submissions and decisions in the audit log."""
        built = {name: value or "" for name, value in build.described().items()}
        yield InfoMetricFamily("directory_build", "The build of the service.", value=built)
        ask = health.Bounded(partial(health.ledger, db.engine), SCRAPE_SECONDS)
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
        for action in ("approved", "rejected", "unpublished"):
            decisions.add_metric([action], ledger.actions[f"project.{action}"])
        yield decisions
        submitted = ledger.actions["project.submitted"]
        yield CounterMetricFamily("directory_submissions", "Projects submitted.", value=submitted)
        yield GaugeMetricFamily("directory_pending_projects", "Projects that wait for review.", value=ledger.pending)
        yield GaugeMetricFamily(
            "directory_oldest_pending_seconds",
            "How long the project that was submitted first has waited for review; 0: none.",
            value=_age(ledger.pending_since),
        )
        yield from _connections(ledger)


def _outbox(ledger: health.Ledger) -> Iterator[Metric]:
    """Webhooks and mails by state, 0 if none are sent."""
    kinds = (
        ("deliveries", "delivery", "Webhook deliveries", ledger.deliveries, ledger.oldest),
        ("mails", "mail", "Mails", ledger.mails, ledger.oldest_mail),
    )
    for name, one, what, counts, oldest in kinds:
        yield _by_state(f"directory_{name}", f"{what} by state.", counts)
        text = f"Age of the oldest pending {one}; 0: none."
        yield GaugeMetricFamily(f"directory_oldest_{one}_seconds", text, value=_age(oldest))


def _connections(ledger: health.Ledger) -> Iterator[Metric]:
    """The connections to PostgreSQL; all 0 on SQLite, which has none."""
    found = ledger.connections
    counts = {state: getattr(found, state) for state in ("active", "idle", "in_transaction", "unknown")}
    yield _by_state("directory_database_connections", "Connections to PostgreSQL.", counts)
    text = "How many connections PostgreSQL allows."
    yield GaugeMetricFamily("directory_database_connections_max", text, value=found.most)


def _by_state(name: str, text: str, counts: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["state"])
    for state, count in counts.items():
        family.add_metric([state], count)
    return family


def _age(since: datetime | None) -> float:
    return max(0.0, (now() - since).total_seconds()) if since else 0.0
