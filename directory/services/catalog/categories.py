"""Categories, each with its number of live projects. The log names a category by its slug, in `changes`.

A category keeps the slugs that it had (`category_slugs`): no other may take one, and it may take one back.
"""

from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import delete, select

from directory import events
from directory.db.errors import refusing
from directory.db.statements import Prepared
from directory.errors import CategoryInUse, Duplicate, NotFound
from directory.extensions import UNSYNCHRONISED, db
from directory.language.messages import _
from directory.models import Category
from directory.services import audit
from directory.services.identity import Caller

FIELDS = ("slug", "name", "description")
TAKEN = _("Another category has this slug, or had it before.")


class Listed(NamedTuple):
    """A category as lists of all show it."""

    id: int
    slug: str
    name: str
    description: str
    live_projects: int


def listed() -> list[Listed]:
    """All categories, ordered by name."""
    return [Listed(*row) for row in _listed().all({})]


@cache
def _listed() -> Prepared:
    columns = (getattr(Category, name) for name in Listed._fields)
    return Prepared(select(*columns).order_by(Category.name, Category.id))


def add(fields: dict[str, Any], *, by: Caller | None) -> Category:
    """Add a category. Raises Duplicate."""
    category = Category(**fields)
    db.session.add(category)
    with refusing(uq_categories_slug=Duplicate(["slug"], TAKEN)):
        db.session.flush()
    changes = {name: {"from": None, "to": getattr(category, name)} for name in FIELDS}
    audit.record(events.CATEGORY_CREATED, by=by, changes=changes)
    return category


def change(slug: str, fields: dict[str, Any], *, by: Caller | None) -> Category:
    """Rename a category or change its slug or description. Raises NotFound, Duplicate."""
    query = select(Category).where(Category.slug == slug).with_for_update(key_share=True)
    category = db.session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    if category is None:
        raise NotFound
    before = {name: getattr(category, name) for name in FIELDS}
    for name, value in fields.items():
        setattr(category, name, value)
    with refusing(uq_categories_slug=Duplicate(["slug"], TAKEN)):
        db.session.flush()
    after = {name: getattr(category, name) for name in FIELDS}
    if after != before:
        changed = {name for name in FIELDS if after[name] != before[name]} | {"slug"}
        changes = {name: {"from": before[name], "to": after[name]} for name in FIELDS if name in changed}
        audit.record(events.CATEGORY_CHANGED, by=by, changes=changes)
    return category


def remove(slug: str, *, by: Caller | None) -> None:
    """Delete a category that no project or revision uses. Raises NotFound, CategoryInUse."""
    columns = (getattr(Category, name) for name in FIELDS)
    gone = delete(Category).where(Category.slug == slug).returning(*columns)
    used = CategoryInUse()
    with refusing(fk_projects_category_id_categories=used, fk_reviews_category_categories=used):
        removed = db.session.execute(gone, execution_options=UNSYNCHRONISED).one_or_none()
    if removed is None:
        raise NotFound
    changes = {name: {"from": getattr(removed, name), "to": None} for name in FIELDS}
    audit.record(events.CATEGORY_DELETED, by=by, changes=changes)
