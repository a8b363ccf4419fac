"""The content of the Atom feed: the newest live projects, under ids that no other directory uses."""

from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from sqlalchemy import select

from directory.extensions import db
from directory.models import Status, User
from directory.services.catalog import catalog
from directory.services.catalog.paging import Window
from directory.services.timestamps import timestamp

SIZE = 50


def newest(category: str | None = None, tag: str | None = None) -> list[dict[str, Any]]:
    """The newest live projects as anybody sees them, newest first; of a category, of a tag, or of both."""
    filters = catalog.Filters(status=Status.LIVE, category=category, tag=tag)
    return catalog.page(filters, "newest", Window(SIZE), viewer=None).items


def name_of(project: dict[str, Any]) -> UUID:
    """The name of a project for ever: ids begin at 1 everywhere, the instant of creation distinguishes directories."""
    return uuid5(NAMESPACE_OID, f"project {project['id']} {timestamp(project['created_at'])}")


def name(narrowed: str = "") -> UUID:
    """The name of this directory's feed for ever: by its first account, for accounts are never deleted.

    A feed of a category or a tag has a name of its own.
    """
    founded = db.session.scalar(select(User.created_at).order_by(User.id).limit(1))
    return uuid5(NAMESPACE_OID, f"directory {timestamp(founded) if founded else 'of nobody'}{narrowed}")
