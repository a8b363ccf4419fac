"""Lock the counters of several projects before one transaction changes their states."""

from collections.abc import Collection

from sqlalchemy import BigInteger, String, bindparam, or_, select, text
from sqlalchemy.dialects.postgresql import ARRAY

from directory.db.transactions import on_postgresql
from directory.extensions import db
from directory.models import Category, Project, UserSubmissions

# In the order in which the triggers lock the tags of a single project. A new tag gets a counter of 0 first, because two
# transactions that insert the same tags could also deadlock.
_LOCK_TAGS = text(
    'SELECT count_tag(tag, 0) FROM (SELECT tag COLLATE "C" AS tag FROM project_tags WHERE project_id = ANY(:ids) '
    'UNION SELECT unnest(:tags) COLLATE "C" ORDER BY 1) AS tags'
).bindparams(bindparam("ids", type_=ARRAY(BigInteger)), bindparam("tags", type_=ARRAY(String)))


def lock(
    project_ids: Collection[int], *, deleting: bool = False, slugs: Collection[str] = (), tags: Collection[str] = ()
) -> None:
    """Lock the counters of the projects' categories and tags, and with `deleting` those of their owners.

    The calling function has locked the projects. `slugs` and `tags` are those that the projects will get.

    Categories are locked first, in the order of their ids, then owners, then tags, as the triggers lock them for a
    single project, which needs no lock before. So two transactions cannot deadlock. SQLite has one lock for the whole
    database.
    """
    if len(project_ids) < 2 or not on_postgresql():
        return
    used = select(Project.category_id).where(Project.id.in_(project_ids))
    locked = select(Category.id).where(or_(Category.id.in_(used), Category.slug.in_(slugs))).order_by(Category.id)
    db.session.execute(locked.with_for_update(key_share=True))
    if deleting:
        owners = select(Project.owner_id).where(Project.id.in_(project_ids))
        counted = select(UserSubmissions.user_id).where(UserSubmissions.user_id.in_(owners))
        db.session.execute(counted.order_by(UserSubmissions.user_id).with_for_update(key_share=True))
    db.session.execute(_LOCK_TAGS, {"ids": sorted(project_ids), "tags": list(tags)})
