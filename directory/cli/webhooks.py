"""flask webhooks: deliver notifications, look at them, send them again, try an endpoint."""

import logging
import secrets
import sys
from datetime import UTC, datetime
from typing import Any

import click
from flask import current_app
from flask.cli import AppGroup

from directory.cli.console import count, refusals, table, writes
from directory.db.paging import Window
from directory.db.transactions import lift_time_limits, transaction
from directory.extensions import db
from directory.http.receivers import subscribers
from directory.models import DeliveryState, now
from directory.models.base import HIGHEST_ID
from directory.runtime.delivering import deliver
from directory.services.delivery import deliverer, deliveries, outbox
from directory.services.delivery.channels import MAIL, Endpoint
from directory.services.delivery.leases import Lease
from directory.services.delivery.schedule import DeliveryPolicy

log = logging.getLogger(__name__)

webhooks = AppGroup("webhooks", help="Deliver notifications and manage deliveries.")


@webhooks.command()
@click.option(
    "--parallel", type=click.IntRange(1, 32), default=1, show_default=True, help="Exchanges at once per endpoint."
)
@click.option("--until-eof", is_flag=True, help="Also stop when standard input ends.")
@refusals()
def work(parallel: int, until_eof: bool) -> None:
    """Deliver what is due and delete what has expired, until stopped. Any number may run, on any number of machines."""
    log.info("webhooks are delivered", extra={"database": db.address, "endpoints": len(subscribers())})
    deliver(current_app._get_current_object(), DeliveryPolicy(), parallel, until_eof=until_eof)  # type: ignore[attr-defined]


@webhooks.command("list")
@click.option("--state", type=click.Choice([str(state) for state in DeliveryState]), help="Only these.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@refusals()
def list_(state: str | None, limit: int) -> None:
    """Show deliveries, newest first, each with its last try."""
    rows = deliveries.listed(Window(limit), **({"state": state} if state else {})).items
    configured = {endpoint.name for endpoint in subscribers()}
    heads = ("ID", "MADE", "EVENT", "PROJECT", "ENDPOINT", "STATE", "TRIES", "LAST TRY", "NEXT TRY")
    click.echo(table(heads, [_line(one, one["endpoint"] in configured) for one in rows]))
    counts = deliveries.counts()
    click.echo(", ".join(f"{counts[str(name)]} {name}" for name in DeliveryState))


@webhooks.command()
@click.argument("ids", type=click.IntRange(1, HIGHEST_ID), nargs=-1)
@click.option("--dead", is_flag=True, help="All deliveries that were given up.")
@click.option("--pending", is_flag=True, help="All deliveries that wait for their next try: it is made now.")
@click.option(
    "--since",
    metavar="TIME",
    help="All since then, but for mail that was sent, unless --dead or --pending is given.",
)
@click.option("--endpoint", help="Only deliveries to this endpoint. Sent mail is repeated only with `mail`.")
@writes
def redeliver(ids: tuple[int, ...], dead: bool, pending: bool, since: str | None, endpoint: str | None) -> None:
    """Send again, under the same webhook-id: deliveries by their IDS, or many at once."""
    start = _time(since)
    states = [state for state, chosen in ((DeliveryState.DEAD, dead), (DeliveryState.PENDING, pending)) if chosen]
    if bool(ids) == (bool(states) or since is not None):
        raise click.UsageError("give IDS, or some of --dead, --pending and --since")
    if ids and endpoint is not None:
        raise click.UsageError("--endpoint is for --dead, --pending and --since")
    if not ids:
        number = transaction(lambda: _redeliver_all(states, start, endpoint))
        if number == 0 and endpoint is not None and endpoint not in {one.name for one in subscribers()}:
            raise click.ClickException("no endpoint of that name is configured, and no delivery is to one")
        click.echo(f"{count(number, 'delivery', 'deliveries')} to be sent again")
        return
    again = transaction(lambda: [deliveries.redeliver(delivery_id, by=None) for delivery_id in ids])
    configured = {endpoint.name for endpoint in subscribers()}
    heads = ("ID", "EVENT", "ENDPOINT", "STATE")
    rows = [(one["id"], one["event"], one["endpoint"], _state(one, one["endpoint"] in configured)) for one in again]
    click.echo(table(heads, rows))


@webhooks.command("send-test")
@click.argument("endpoint", required=False)
@refusals()
def send_test(endpoint: str | None) -> None:
    """Send a `webhook.test` to all endpoints, or to the one of that name or host, and show what they answer."""
    receivers = [one for one in subscribers() if one.format != MAIL]  # for which there is `flask mail send-test`
    chosen = [one for one in receivers if endpoint is None or endpoint in (one.name, one.name.rpartition("-")[0])]
    if not chosen:
        raise click.ClickException(
            "no endpoint of that name is configured" if endpoint else "no endpoint is configured"
        )
    outcomes = [(one, deliverer.prepared(one, _test_lease(one))(DeliveryPolicy())) for one in chosen]
    rows = [
        (one.name, one.format, o.status or o.error, f"{o.milliseconds} ms", o.response.strip().partition("\n")[0][:60])
        for one, o in outcomes
    ]
    click.echo(table(("ENDPOINT", "FORMAT", "RESULT", "TOOK", "ANSWER"), rows))
    sys.exit(0 if all(outcome.delivered for _, outcome in outcomes) else 1)


def _redeliver_all(states: list[DeliveryState], since: datetime | None, endpoint: str | None) -> int:
    lift_time_limits()
    return deliveries.redeliver_all(states=states, since=since, endpoint=endpoint)


def _time(text: str | None) -> datetime | None:
    """An instant such as 2026-11-20T10:00Z; without a zone it is UTC."""
    if text is None:
        return None
    try:
        instant = datetime.fromisoformat(text)
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{text!r} is not a time such as 2026-11-20T10:00Z") from None


def _line(delivery: dict[str, Any], configured: bool) -> tuple[Any, ...]:
    attempts = delivery["attempts"]
    last = attempts[-1] if attempts else None
    project = delivery["project_id"] or ""
    due = delivery["next_attempt_at"] if configured else None
    return (
        delivery["id"],
        f"{delivery['created_at']:%Y-%m-%d %H:%M:%S}",
        delivery["event"],
        project,
        delivery["endpoint"],
        _state(delivery, configured),
        len(attempts),
        f"{last.status or last.error} ({last.milliseconds} ms)" if last else "",
        f"{due:%Y-%m-%d %H:%M:%S}" if due else "",
    )


def _state(delivery: dict[str, Any], configured: bool) -> str:
    waits = delivery["state"] == DeliveryState.PENDING and not configured
    return "pending, endpoint not configured" if waits else str(delivery["state"])


def _test_lease(endpoint: Endpoint) -> Lease:
    """A test event to be sent at once, without a delivery in the outbox."""
    [row] = outbox.rows_of_test([endpoint])
    return Lease(0, f"msg_test_{secrets.token_hex(8)}", row["event"], row["payload"], 0, "", now())
