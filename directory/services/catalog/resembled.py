"""The other projects that the warnings about projects in review are about, by their names."""

from typing import Any

from sqlalchemy import or_, select

from directory.extensions import db
from directory.models import Project, Status
from directory.services import permissions
from directory.services.catalog import similar
from directory.services.catalog.search_words import whole
from directory.services.identity import Caller
from directory.services.text.characters import in_latin

P = Project.__table__.c
MOST_TITLES = 20  # of a list that are looked up; it would take a flood of them to have more


def titled_alike(titles: list[str]) -> dict[str, set[int]]:
    """For each of the first titles the live projects whose titles read like it in Latin letters, by one statement."""
    keys = {title: key for title in titles[:MOST_TITLES] if (key := whole(in_latin(title))) is not None}
    found = similar.matches([[key] for key in keys.values()]) if keys else []
    return dict(zip(keys, found, strict=True))


def named(ids: set[int], *, by: Caller) -> dict[int, dict[str, Any]]:
    """The id and title of each project that `by` may see: what is live, and what is in their categories."""
    if not ids:
        return {}
    seen = or_(P.status == Status.LIVE, permissions.within(P.category_id, by))
    rows = db.session.execute(select(P.id, P.title).where(P.id.in_(sorted(ids)), seen))
    return {row.id: row._asdict() for row in rows}
