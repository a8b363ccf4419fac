"""The outbox: a notification is a row that is written in the transaction of its change, and delivered later."""

import json
import math
import re
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, String, bindparam, case, cast, func, literal, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY

from directory import events
from directory.db.statements import add_row_later
from directory.db.transactions import on_postgresql
from directory.events import Event
from directory.extensions import UNSYNCHRONISED, db, modify
from directory.models import AccountStatus, Delivery, DeliveryState, Project, User, now
from directory.services import bulk
from directory.services.catalog import catalog, fields, own_fields
from directory.services.catalog.fields import IN_WEBHOOKS
from directory.services.clock import at_once, database_clock, timestamp
from directory.services.delivery.channels import MAIL, Endpoint
from directory.services.identity import Caller

# So many decisions are mailed in so long to an address that is not confirmed.
UNCONFIRMED_MAILS, UNCONFIRMED_PERIOD = 3, timedelta(hours=1)
_ALONE = text(
    "SELECT id FROM unnest(:ids) AS owners (id) "
    "WHERE pg_try_advisory_xact_lock(hashtextextended('decision mail ' || id, 0))"
).bindparams(bindparam("ids", type_=ARRAY(BigInteger)))
_FORGET_ANSWERS = text("UPDATE delivery_attempts SET response = '' WHERE delivery_id = ANY(:ids) AND response <> ''")
_FORGET_ANSWERS = _FORGET_ANSWERS.bindparams(bindparam("ids", type_=ARRAY(BigInteger)))
_RENAME_ONE = text("UPDATE deliveries SET payload = :renamed WHERE id = :delivery")
_FORGET_ANSWERS_OF_ONE = text("UPDATE delivery_attempts SET response = '' WHERE delivery_id = :delivery")
BETWEEN_MAILS = timedelta(minutes=10)  # of what is written in one thread
# No project has this id, and the event's type is another than an approval's: nobody takes a test for one.
TEST_PROJECT = {
    "id": None,
    "slug": "a-test",
    "title": "A test",
    "tagline": "If you can read this, the webhook works.",
    "url": "https://example.org/",
    "category": {"slug": "test", "name": "Test"},
    "owner": {"id": None, "username": "nobody"},
}


def enqueue(
    event: Event,
    project_id: int,
    *,
    by: Caller | None,
    endpoints: list[Endpoint],
    reason: str | None = None,
    changes: dict[str, Any] | None = None,
    kind: str | None = None,
    message_id: int | None = None,
    due: datetime | None = None,
    link: dict[str, Any] | None = None,
) -> None:
    """Add one outbox row for each endpoint that wants `event`, in the current transaction.

    `changes` are those of an edit, by field an object with `from` and `to`; `kind` is that of a report. `message_id` is
    the entry of the thread that the event tells of: its text is read when a mail is sent, so that no delivery stores
    it. It is `due` at once, or at an instant. `link` is the one that is dead.
    """
    wanted_by = wanting(event, endpoints)
    if wanted_by:
        project = catalog.stored(project_id)
        recipients = _recipients(wanted_by, project, _mailed([project], wanted_by))
        payload = _payload(event, project, by, reason, changes, kind=kind, message_id=message_id, link=link)
        store(rows_of(event, project_id, payload, recipients, due=due or at_once()))


def enqueue_message(project_id: int, *, by: Caller, endpoints: list[Endpoint], message_id: int) -> None:
    """Add the mail about a message to the owner, unless one waits that will have it too.

    A mail has what is unread of the thread, up to the first message of the mail after it, and comes BETWEEN_MAILS after
    the one before at the earliest. The calling function has locked the project; a delivery that waits is locked here,
    so that nobody takes it before the message is there.
    """
    due = None
    if wanting(events.PROJECT_MESSAGE, endpoints):
        own = Delivery.project_id == project_id, Delivery.event == events.PROJECT_MESSAGE
        last = db.session.scalars(select(Delivery).where(*own).order_by(Delivery.id.desc()).limit(1).with_for_update())
        if (before := last.one_or_none()) is not None:
            if before.state == DeliveryState.PENDING and before.lease_token is None:
                return
            due = (before.settled_at or database_clock()) + BETWEEN_MAILS
    enqueue(events.PROJECT_MESSAGE, project_id, by=by, endpoints=endpoints, message_id=message_id, due=due)


def enqueue_each(
    event: Event,
    projects: list[dict[str, Any]],
    *,
    by: Caller | None,
    endpoints: list[Endpoint],
    reason: str | None = None,
    changes: Mapping[int, dict[str, Any]] | None = None,
    messages: Mapping[int, int | None] | None = None,
) -> None:
    """The same for each of many projects, given as `catalog.all_stored` returns them, at once.

    `changes` and the ids of `messages` are by project.
    """
    wanted_by = wanting(event, endpoints)
    if not (wanted_by and projects):
        return
    due, mailed = at_once() if len(projects) == 1 else database_clock(), _mailed(projects, wanted_by)
    rows = [
        row
        for project in projects
        for row in rows_of(
            event,
            project["id"],
            _payload(
                event,
                project,
                by,
                reason,
                None if changes is None else changes[project["id"]],
                message_id=None if messages is None else messages[project["id"]],
            ),
            _recipients(wanted_by, project, mailed),
            due=due,
        )
    ]
    store(rows)


def store(rows: list[dict[str, Any]]) -> None:
    """Add deliveries, as `rows_of` makes them, to the current transaction; those of more than one event in bulk."""
    defaults = {"state": DeliveryState.PENDING.value, "attempts": 0, "created_at": now()}
    full = [{**row, **defaults} for row in rows]
    if len({row["webhook_id"] for row in rows}) > 1:
        bulk.load_dicts(Delivery, full)
    else:
        for row in full:
            add_row_later(Delivery, row)


def wanting(event: str, endpoints: list[Endpoint]) -> list[Endpoint]:
    """The endpoints that want an event."""
    return [endpoint for endpoint in endpoints if event in endpoint.events]


def _mailed(projects: list[dict[str, Any]], endpoints: list[Endpoint]) -> dict[int, float]:
    """How many decisions each owner may get by mail now: those who are active, and have not switched such mail off.

    An address that is not confirmed may be a stranger's, so it gets as few as it gets notices.
    """
    if not any(endpoint.format == MAIL for endpoint in endpoints):
        return {}
    owners = {project["owner"]["id"] for project in projects}
    wish = User.notify, User.status == AccountStatus.ACTIVE
    rows = db.session.execute(select(User.id, User.email_verified_at).where(User.id.in_(owners), *wish))
    confirmed = {user_id: at is not None for user_id, at in rows}
    left = {user_id: math.inf for user_id, is_confirmed in confirmed.items() if is_confirmed}
    return left | _left({user_id for user_id, is_confirmed in confirmed.items() if not is_confirmed})


def _left(owners: set[int]) -> dict[int, float]:
    """How many decisions may be mailed to each of these owners, after those of the last hour."""
    if on_postgresql():  # one of several transactions mails: it cannot see the others' rows, and a wait could deadlock
        owners = set(db.session.scalars(_ALONE, {"ids": sorted(owners)}))
    if not owners:
        return {}
    mails = {row.owner_id: row.mails for row in db.session.execute(_mails_to(owners).group_by(Project.owner_id))}
    return {user_id: UNCONFIRMED_MAILS - mails.get(user_id, 0) for user_id in owners}


def _mails_to(owners: set[int]) -> Any:
    """The number of decisions that were mailed in the last hour, by owner."""
    recent = Delivery.endpoint == MAIL, Delivery.created_at > now() - UNCONFIRMED_PERIOD, Project.owner_id.in_(owners)
    mailed = select(Project.owner_id, func.count().label("mails")).join(Delivery, Delivery.project_id == Project.id)
    return mailed.where(*recent)


def is_held_back(user_id: int) -> bool:
    """Whether no more decisions are mailed to a user for now, who wants them, because the address is not confirmed."""
    unconfirmed = User.email_verified_at.is_(None), User.notify
    mails = _mails_to({user_id}).join(User, User.id == Project.owner_id).where(*unconfirmed).group_by(Project.owner_id)
    return db.session.scalar(mails.having(func.count() >= UNCONFIRMED_MAILS)) is not None


def _recipients(endpoints: list[Endpoint], project: dict[str, Any], mailed: dict[int, float]) -> list[Endpoint]:
    """The endpoints that get an event about a project; a mail to its owner counts against those that are left."""
    owner = project["owner"]["id"]
    left = mailed.get(owner, 0)
    mailed[owner] = left - 1
    return [one for one in endpoints if one.format != MAIL or left > 0]


def forget_user(user_id: int, new_name: str) -> None:
    """Replace a user's names, earlier ones too, in all stored payloads, and delete what receivers answered to them.

    Each payload names a user by id and name, as `event_json` writes it. A text that looks the same has its quotes
    escaped.
    """
    begin, end = _compact({"id": user_id, "username": "|"}).split("|")
    pattern, after = f"{re.escape(begin)}[a-z0-9_-]*{re.escape(end)}", f"{begin}{new_name}{end}"
    named = Delivery.payload.contains(begin, autoescape=True)
    if on_postgresql():
        renamed = func.regexp_replace(Delivery.payload, pattern, after, "g")
        renaming = update(Delivery).where(named).values(payload=renamed).returning(Delivery.id)
        ids = list(db.session.scalars(renaming, execution_options=UNSYNCHRONISED))
        db.session.execute(_FORGET_ANSWERS, {"ids": ids})
    else:  # it has no regular expressions, and a statement costs no round trip
        deliveries = db.session.execute(select(Delivery.id, Delivery.payload).where(named)).all()
        rows = [{"delivery": row.id, "renamed": re.sub(pattern, after, row.payload)} for row in deliveries]
        if rows:
            for statement in (_RENAME_ONE, _FORGET_ANSWERS_OF_ONE):
                db.session.connection().execute(statement, rows)


def empty(*which: ColumnElement[bool]) -> None:
    """Leave of the payloads of delivered events nothing but the type and the id of their project.

    Of deliveries that are still to be sent, which this locks, `leases.complete` does so later.
    """
    begin, middle, end = map(literal, ('{"type":"', '","data":{"project":{"id":', "}}}"))
    left = begin + Delivery.event + middle + cast(Delivery.project_id, String) + end
    payload = case((Delivery.state == DeliveryState.DELIVERED, left), else_=Delivery.payload)
    modify(update(Delivery).where(*which).values(payload=payload))


def empty_where_gone(delivery_id: int) -> None:
    """The same for a delivery whose project is gone."""
    is_gone = ~select(Project.id).where(Project.id == Delivery.project_id).exists()
    empty(Delivery.id == delivery_id, Delivery.project_id.is_not(None), is_gone)


def rows_of(
    event: str, project_id: int | None, payload: str, endpoints: list[Endpoint], *, due: Any
) -> list[dict[str, Any]]:
    """The deliveries of one event: one webhook-id for all endpoints."""
    event_of = {"webhook_id": f"msg_{secrets.token_hex(16)}", "event": event, "project_id": project_id}
    return [
        {**event_of, "endpoint": endpoint.name, "payload": payload, "next_attempt_at": due} for endpoint in endpoints
    ]


def _payload(
    event: Event,
    seen: dict[str, Any],
    by: Caller | None,
    reason: str | None,
    changes: dict[str, Any] | None = None,
    *,
    kind: str | None = None,
    message_id: int | None = None,
    link: dict[str, Any] | None = None,
) -> str:
    """The event as Standard Webhooks lays it out, as JSON; the project as the public would see it."""
    data: dict[str, Any] = {"project": {name: _json(seen[name]) for name in IN_WEBHOOKS}}
    if event.actor is not None:  # who reports is for administrators to know
        data[event.actor] = {"id": by.id, "username": by.username} if by else None
    if changes is not None:
        data["changes"] = fields.nested(own_fields.public_changes(fields.flat(changes), seen["category_id"]))
    if reason is not None:
        data["reason"] = reason
    if kind is not None:
        data["kind"] = kind
    if message_id is not None:
        data["message_id"] = message_id
    if link is not None:
        data["link"] = link
    return event_json(event, data)


def rows_of_test(endpoints: list[Endpoint], recipient: Caller | None = None) -> list[dict[str, Any]]:
    """The deliveries of a test event of this instant; with a recipient it is one for the mail server."""
    about: dict[str, Any] = {"project": TEST_PROJECT}
    if recipient is not None:
        about = {"user": {"id": recipient.id, "username": recipient.username}}
    return rows_of(events.WEBHOOK_TEST, None, event_json(events.WEBHOOK_TEST, about), endpoints, due=at_once())


def event_json(event: str, data: dict[str, Any]) -> str:
    """An event of this instant, as JSON."""
    body = {"type": event, "timestamp": timestamp(now()), "data": data}
    return _compact(body)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _json(member) for name, member in value.items()}
    return timestamp(value) if isinstance(value, datetime) else value
