"""Categories by their slugs: the one that each has, and those that it had before, which go on leading to it."""

from collections.abc import Callable, Collection
from typing import Any

from sqlalchemy import ColumnElement, CompoundSelect, bindparam, select, union_all

from directory.db.statements import Prepared
from directory.extensions import db
from directory.models import FIELDS_STAMP, Category, CategorySlug

PRESENT, FORMER = Category.__table__.c, CategorySlug.__table__.c


def named(is_asked_for: Callable[[Any], ColumnElement[bool]]) -> CompoundSelect[Any]:
    """The slugs and ids of categories, as `slug` and `id`; the condition is that of the slug, present or former."""
    return union_all(
        select(PRESENT.slug, PRESENT.id).where(is_asked_for(PRESENT.slug)),
        select(FORMER.slug, FORMER.category_id).where(is_asked_for(FORMER.slug)),
    )


def id_asked_for() -> ColumnElement[int]:
    """The id of the category that the parameter `category` names; null for none."""
    asked = named(lambda slug: slug == bindparam("category")).subquery("named")
    return select(asked.c.id).scalar_subquery()


_ID = Prepared(select(id_asked_for(), FIELDS_STAMP))


def id_of(slug: str) -> int | None:
    """The id of the category that has this slug or had it before; None for no category."""
    return id_and_stamp(slug)[0]


def id_and_stamp(slug: str) -> tuple[int | None, int | None]:
    """The same with the number of the state of the definitions of own fields."""
    [(category_id, stamp)] = _ID.all({"category": slug})
    return category_id, stamp


def ids(slugs: Collection[str]) -> dict[str, int]:
    """The ids of the categories by these slugs, as far as there are any."""
    return dict(db.session.execute(named(lambda slug: slug.in_(slugs))).all())


def present(slug: str) -> str | None:
    """The present slug of the category that has this slug or had it before; None for no category."""
    return db.session.scalar(select(PRESENT.slug).where(PRESENT.id == id_asked_for()), {"category": slug})
