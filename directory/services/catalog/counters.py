"""Lock the counters of several projects before one transaction changes their states."""

from collections.abc import Collection

from sqlalchemy import BigInteger, bindparam, select, text
from sqlalchemy.dialects.postgresql import ARRAY

from directory.db.transactions import on_postgresql
from directory.extensions import db
from directory.models import Category, Project

# In the order in which the triggers of a single project take them. A tag without a counter gets one, at zero: two
# transactions that add the same one would wait for each other as well.
_LOCK_TAGS = text(
    'SELECT count_tag(tag, 0) FROM (SELECT DISTINCT tag COLLATE "C" AS tag FROM project_tags '
    "WHERE project_id = ANY(:ids) ORDER BY 1) AS tags"
).bindparams(bindparam("ids", type_=ARRAY(BigInteger)))


def lock(project_ids: Collection[int]) -> None:
    """Lock the counters of the categories and tags of projects, which the caller has locked.

    Categories come first, in the order of their ids, and then tags, in theirs, which is also the order for one project
    alone. So two transactions that share any of them never wait for each other in a ring. SQLite has one lock for all.
    """
    if not on_postgresql():
        return
    used = select(Project.category_id).where(Project.id.in_(project_ids))
    locked = select(Category.id).where(Category.id.in_(used)).order_by(Category.id)
    db.session.execute(locked.with_for_update(key_share=True))
    db.session.execute(_LOCK_TAGS, {"ids": sorted(project_ids)})
