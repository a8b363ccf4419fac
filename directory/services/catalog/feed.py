"""The content of the Atom feed: the newest live projects, under ids that no other directory uses."""

from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from sqlalchemy import select

from directory.db.paging import Window
from directory.extensions import db
from directory.models import Status, User
from directory.services.catalog import catalog
from directory.services.catalog.filters import Filters
from directory.services.clock import timestamp

SIZE = 50


def newest(**narrowed: Any) -> list[dict[str, Any]]:
    """The newest live projects as the public sees them, newest first, under these filters; of picks the latest."""
    sort = "picked" if "picked" in narrowed else "newest"
    return catalog.page(Filters(status=Status.LIVE, **narrowed), sort, Window(SIZE), viewer=None).items


def name_of(project: dict[str, Any]) -> UUID:
    """The permanent id of a project. Ids begin at 1 in every directory, so it includes the time of creation."""
    return uuid5(NAMESPACE_OID, f"project {project['id']} {timestamp(project['created_at'])}")


def name(narrowed: str = "") -> UUID:
    """The permanent id of this directory's feed, from its first account, whose row is never deleted.

    The feed of a category or a tag has an id of its own.
    """
    founded = db.session.scalar(select(User.created_at).order_by(User.id).limit(1))
    return uuid5(NAMESPACE_OID, f"directory {timestamp(founded) if founded else 'of nobody'}{narrowed}")
