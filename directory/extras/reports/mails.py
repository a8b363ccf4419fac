"""Queues the mails that tell reporters how their reports were settled."""

from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import aliased

from directory import events
from directory.db.paging import AnySelect
from directory.extensions import db
from directory.models import AccountStatus, Project, Report, User, now
from directory.services.clock import database_clock
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint

_Earlier = aliased(Report)


def queue(reports: AnySelect, outcome: str, reply: str | None, *, endpoints: list[Endpoint]) -> None:
    """Queue a mail to the reporter of each of the open reports that `reports` selects by id.

    Those who are active and have not switched such mail off get one. An address that is not confirmed may be a
    stranger's, so it gets as few as it gets of decisions. Without a mail server it takes no statement.
    """
    servers = outbox.wanting(events.REPORT_SETTLED, endpoints)
    if not servers:
        return
    due, rows, left = database_clock(), [], dict[int, int]()
    for report in db.session.execute(_recipients(reports)):
        remaining = left.get(report.user_id, outbox.UNCONFIRMED_MAILS - report.recent)
        left[report.user_id] = remaining - 1
        if report.email_verified_at is not None or remaining > 0:
            payload = _payload(report, outcome, reply)
            rows += outbox.rows_of(events.REPORT_SETTLED, report.project_id, payload, servers, due=due)
    outbox.store(rows)


def _recipients(reports: AnySelect) -> AnySelect:
    """The reporters, each with the project and how many of their reports were settled lately."""
    lately = _Earlier.reporter_id == Report.reporter_id, _Earlier.settled_at > now() - outbox.UNCONFIRMED_PERIOD
    recent = select(func.count()).select_from(_Earlier).where(*lately).scalar_subquery().label("recent")
    columns = (Report.project_id, Project.title, User.id.label("user_id"), User.username, User.email_verified_at)
    query = select(*columns, recent).join(User, User.id == Report.reporter_id)
    query = query.join(Project, Project.id == Report.project_id).order_by(Report.id)
    return query.where(Report.id.in_(reports), User.status == AccountStatus.ACTIVE, User.notify)


def _payload(report: Any, outcome: str, reply: str | None) -> str:
    data: dict[str, Any] = {
        "user": {"id": report.user_id, "username": report.username},
        "project": {"id": report.project_id, "title": report.title},
        "outcome": outcome,
    }
    return outbox.event_json(events.REPORT_SETTLED, data | ({} if not reply else {"reply": reply}))
