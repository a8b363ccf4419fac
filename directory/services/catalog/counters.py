"""Lock the counters of several projects before one transaction changes their states."""

from collections.abc import Collection

from sqlalchemy import BigInteger, String, bindparam, or_, select, text
from sqlalchemy.dialects.postgresql import ARRAY

from directory.db.transactions import on_postgresql
from directory.extensions import db
from directory.models import Category, Project, UserSubmissions

# In the order in which the triggers of a single project take them. A tag without a counter gets one, at zero: two
# transactions that add the same one would wait for each other as well.
_LOCK_TAGS = text(
    'SELECT count_tag(tag, 0) FROM (SELECT tag COLLATE "C" AS tag FROM project_tags WHERE project_id = ANY(:ids) '
    'UNION SELECT unnest(:tags) COLLATE "C" ORDER BY 1) AS tags'
).bindparams(bindparam("ids", type_=ARRAY(BigInteger)), bindparam("tags", type_=ARRAY(String)))


def lock(
    project_ids: Collection[int], *, deleting: bool = False, slugs: Collection[str] = (), tags: Collection[str] = ()
) -> None:
    """Lock the counters of the categories and tags of projects, which the caller has locked; to delete, of owners too.

    `slugs` and `tags` are further categories and tags, which the projects are to have.

    Categories come first, in the order of their ids, then owners and then tags, in theirs, which is also the order for
    one project alone. So two transactions that share any of them never wait for each other in a ring. SQLite has one
    lock for all.
    """
    if not on_postgresql():
        return
    used = select(Project.category_id).where(Project.id.in_(project_ids))
    locked = select(Category.id).where(or_(Category.id.in_(used), Category.slug.in_(slugs))).order_by(Category.id)
    db.session.execute(locked.with_for_update(key_share=True))
    if deleting:
        owners = select(Project.owner_id).where(Project.id.in_(project_ids))
        counted = select(UserSubmissions.user_id).where(UserSubmissions.user_id.in_(owners))
        db.session.execute(counted.order_by(UserSubmissions.user_id).with_for_update(key_share=True))
    db.session.execute(_LOCK_TAGS, {"ids": sorted(project_ids), "tags": list(tags)})
