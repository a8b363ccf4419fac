"""How many bytes of texts and pictures each member has stored on a UTC day: one row for each account.

Rules note what they store; the end of the transaction counts it (`http/account_limits.py`), as the last of its locks.
"""

from typing import Any

import orjson
from sqlalchemy import delete, select, text

from directory.db.statements import Prepared
from directory.extensions import db, modify
from directory.models import DailyBytes, now

ROW = 300  # bytes of an entry of the log without its changes, with its indexes
NOTED = "directory.noted"  # of a session: its transaction, and the bytes that are noted in it
_ADD = Prepared(
    text(
        "INSERT INTO daily_bytes (account_id, day, bytes) VALUES (:account, :day, :size) "
        "ON CONFLICT (account_id) DO UPDATE SET day = :day, "
        "bytes = CASE WHEN daily_bytes.day = :day THEN daily_bytes.bytes ELSE 0 END + :size "
        "WHERE daily_bytes.day <> :day OR daily_bytes.bytes + :size <= :most RETURNING account_id"
    )
)


def note(stored: Any, more: int = 0) -> None:
    """Note that the current transaction stores this (bytes, or what is stored as JSON), and so many bytes more."""
    size = more + len(stored if isinstance(stored, bytes) else orjson.dumps(stored, default=str))
    db.session.info[NOTED] = (db.session().get_transaction(), noted() + size)


def noted() -> int:
    """How many bytes are noted in the current transaction."""
    transaction, size = db.session.info.get(NOTED, (None, 0))
    return int(size) if transaction is db.session().get_transaction() else 0


def add(account_id: int, size: int, most: int) -> bool:
    """Count bytes that an account stores today, and return whether it may: at most `most` in all."""
    today = {"account": account_id, "day": now().toordinal(), "size": size, "most": most}
    return size <= most and _ADD.first(today) is not None


def of(account_id: int) -> int:
    """How many bytes an account has stored today."""
    query = select(DailyBytes.bytes).where(DailyBytes.account_id == account_id, DailyBytes.day == now().toordinal())
    return db.session.scalar(query) or 0


def forget(account_id: int) -> None:
    """Delete what is counted for an account."""
    modify(delete(DailyBytes).where(DailyBytes.account_id == account_id))
