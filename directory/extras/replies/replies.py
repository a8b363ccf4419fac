"""Saved replies: texts that reviewers choose for a decision, and administrators write."""

from typing import Any

from sqlalchemy import delete, func, select

from directory import events
from directory.db.errors import refusing
from directory.errors import Duplicate, NotFound, TooMany
from directory.events import Event
from directory.extensions import UNSYNCHRONISED, db
from directory.language.messages import _
from directory.models import SavedReply
from directory.services import audit
from directory.services.bounds import require_fewer
from directory.services.identity import Caller

MOST = 100
FIELDS = ("name", "decision", "text")
FULL = _("There are {number} saved replies already. Delete one first.", number=MOST)
TAKEN = _("Another saved reply has this name.")


def listed() -> list[SavedReply]:
    """All saved replies, by name."""
    return list(db.session.scalars(select(SavedReply).order_by(func.lower(SavedReply.name), SavedReply.id)))


def add(fields: dict[str, Any], *, by: Caller) -> SavedReply:
    """Save a reply. Raises TooMany, Duplicate."""
    require_fewer(SavedReply, MOST, TooMany(FULL))
    reply = SavedReply(**fields)
    db.session.add(reply)
    with refusing(uq_saved_replies_name=Duplicate(["name"], TAKEN)):
        db.session.flush()
    _record(events.REPLY_CREATED, {}, _values(reply), by=by)
    return reply


def change(reply_id: int, fields: dict[str, Any], *, by: Caller) -> SavedReply:
    """Change a saved reply. Raises NotFound, Duplicate."""
    query = select(SavedReply).where(SavedReply.id == reply_id).with_for_update(key_share=True)
    reply = db.session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    if reply is None:
        raise NotFound
    before = _values(reply)
    for name, value in fields.items():
        setattr(reply, name, value)
    with refusing(uq_saved_replies_name=Duplicate(["name"], TAKEN)):
        db.session.flush()
    _record(events.REPLY_CHANGED, before, _values(reply), by=by)
    return reply


def remove(reply_id: int, *, by: Caller) -> None:
    """Delete a saved reply. Raises NotFound."""
    columns = (getattr(SavedReply, name) for name in FIELDS)
    gone = delete(SavedReply).where(SavedReply.id == reply_id).returning(*columns)
    removed = db.session.execute(gone, execution_options=UNSYNCHRONISED).one_or_none()
    if removed is None:
        raise NotFound
    _record(events.REPLY_DELETED, removed._asdict(), {}, by=by)


def _values(reply: SavedReply) -> dict[str, Any]:
    return {name: getattr(reply, name) for name in FIELDS}


def _record(action: Event, before: dict[str, Any], after: dict[str, Any], *, by: Caller) -> None:
    """Log what changed, with the name of the reply; nothing if it is as before."""
    if before == after:
        return
    changed = {name for name in FIELDS if before.get(name) != after.get(name)} | {"name"}
    changes = {name: {"from": before.get(name), "to": after.get(name)} for name in FIELDS if name in changed}
    audit.record(action, by=by, changes=changes)
