"""The place of a project among those that were published in the same week."""

from datetime import datetime

from sqlalchemy import and_, case, func, select

from directory.extensions import db
from directory.models import Project, Upvote
from directory.services.catalog import periods
from directory.services.catalog.periods import WEEK, Period
from directory.services.catalog.shapes import LIVE
from directory.services.votes.voting import COUNTS

P = Project.__table__.c


def place(project_id: int, published_at: datetime) -> tuple[Period, int | None]:
    """The week in which a live project was published, and its place there: final once the week is over.

    Votes of the week alone count, so that later ones move nothing, and equals stand as the list has them. A project
    without one has no place.
    """
    week = periods.containing(published_at.date(), WEEK)
    of_week = and_(Upvote.project_id == Project.id, Upvote.created_at <= week.instants[1], COUNTS)
    votes = select(func.count()).select_from(Upvote).where(of_week).scalar_subquery()
    own = db.session.scalar(select(votes).select_from(Project).where(Project.id == project_id))
    if not own:
        return week, None
    is_before = votes >= case((P.id > project_id, own), else_=own + 1)
    # `upvotes` has those of later weeks too: what has fewer of them is passed over without counting.
    among = (LIVE, P.listed_at.between(*week.instants), P.upvotes >= own)
    before = select(func.count()).select_from(Project).where(*among, is_before)
    return week, 1 + (db.session.scalar(before) or 0)
