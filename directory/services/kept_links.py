"""What housekeeping deletes of what was noted for looks at links, whether that extra is on or off."""

from datetime import timedelta

from sqlalchemy import delete, or_, select

from directory.extensions import db, modify
from directory.models import LinkHost
from directory.services.clock import database_clock

KEPT = timedelta(minutes=5)  # after a host may be asked again


def purge_hosts(most: int) -> int:
    """Delete at most `most` hosts that may be asked again and that nobody asks. Returns how many."""
    at = database_clock()
    is_free = or_(LinkHost.leased_until.is_(None), LinkHost.leased_until <= at)
    ended = select(LinkHost.host).where(LinkHost.next_at < at - KEPT, is_free).limit(most)
    hosts = list(db.session.scalars(ended.with_for_update(skip_locked=True)))
    return modify(delete(LinkHost).where(LinkHost.host.in_(hosts))) if hosts else 0
