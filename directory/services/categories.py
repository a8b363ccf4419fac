"""Categories, each with its number of live projects."""

from typing import Any

from sqlalchemy import delete, select

from directory.db.errors import refusing
from directory.errors import CategoryInUse, Duplicate, NotFound
from directory.extensions import db, modify
from directory.models import Category

TAKEN = "There is a category of this slug already."


def listed() -> list[Category]:
    """All categories, ordered by name."""
    return list(db.session.scalars(select(Category).order_by(Category.name, Category.id)))


def add(fields: dict[str, Any]) -> Category:
    """Add a category. Raises Duplicate."""
    category = Category(**fields)
    db.session.add(category)
    with refusing(uq_categories_slug=Duplicate(["slug"], TAKEN)):
        db.session.flush()
    return category


def change(slug: str, fields: dict[str, Any]) -> Category:
    """Rename a category or change its slug or description. Raises NotFound, Duplicate."""
    query = select(Category).where(Category.slug == slug).with_for_update(key_share=True)
    category = db.session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    if category is None:
        raise NotFound
    for name, value in fields.items():
        setattr(category, name, value)
    with refusing(uq_categories_slug=Duplicate(["slug"], TAKEN)):
        db.session.flush()
    return category


def remove(slug: str) -> None:
    """Delete a category that no project or revision uses. Raises NotFound, CategoryInUse."""
    gone = delete(Category).where(Category.slug == slug)
    used = CategoryInUse()
    with refusing(fk_projects_category_id_categories=used, fk_revisions_category_categories=used):
        removed = modify(gone)
    if not removed:
        raise NotFound
