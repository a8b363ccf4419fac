"""Queues the mail of a link, or of a notice, together with the row that the link stands for."""

import secrets

from sqlalchemy import ColumnElement, insert, literal, select

from directory import events
from directory.extensions import UNSYNCHRONISED, db
from directory.models import Delivery, LinkPurpose, MailLink, User, now
from directory.services.accounts import mail_links
from directory.services.accounts.sessions import digest
from directory.services.clock import at_once
from directory.services.delivery.channels import MailServer
from directory.services.delivery.outbox import event_json, rows_of
from directory.services.identity import hold_active

EVENTS = {event.purpose: event for event in events.TABLE if event.purpose}


def queue(
    purpose: LinkPurpose, user: User | None, email: str, server: MailServer, *, next_path: str | None = None
) -> None:
    """Store a link or a notice to an address of a user, and queue its mail in the outbox.

    Without a user the same statements run, and nothing is mailed. The account is held active until the transaction
    ends: if it was suspended or deleted since it was read, nothing is mailed either, and no address is stored.
    `next_path` is the page of this site to which the page of the link leads back.
    """
    if not hold_active(user.id if user else 0):
        user = None
    nonce = secrets.token_hex(32)
    link = MailLink(
        user_id=user.id if user else None,
        purpose=purpose,
        email=email if user else "",
        nonce=nonce,
        token_hash=digest(mail_links.token_of(nonce, server.key)),
        expires_at=now() + mail_links.LIFETIMES[purpose],
    )
    db.session.add(link)
    db.session.flush()  # for its id
    about = {"id": user.id, "username": user.username} if user else None
    back = {"next": next_path} if next_path else {}
    payload = event_json(EVENTS[purpose], {"user": about, "link_id": link.id, **back})
    [row] = rows_of(EVENTS[purpose], None, payload, [server], due=at_once())
    types = Delivery.__table__.c
    values = {n: v if isinstance(v, ColumnElement) else literal(v, types[n].type) for n, v in row.items()}
    rows = select(*values.values()).where(literal(user is not None))
    db.session.execute(insert(Delivery).from_select(list(values), rows), execution_options=UNSYNCHRONISED)
