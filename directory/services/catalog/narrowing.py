"""The filters of a list, as conditions of SQL."""

from typing import Any

from sqlalchemy import ColumnElement, bindparam, literal_column, select

from directory.models import Category, Project, ProjectTag, Status, Upvote, User
from directory.services.catalog import search

categories, users = Category.__table__, User.__table__
tags, upvotes = ProjectTag.__table__, Upvote.__table__
P = Project.__table__.c

BY_VOTER = upvotes.c.user_id == bindparam("voter_id")


def without_query(filters: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the other filters."""
    return tuple(name for name in filters if name != "q")


def by_project(filters: tuple[str, ...]) -> tuple[str, ...]:
    """The filters for few projects, or for some of very many: the tag is looked up for each, not all that have it."""
    return tuple("tag_of_each" if name == "tag" else name for name in filters)


def conditions(
    filters: tuple[str, ...], status: str | None, dialect: str, columns: Any = P
) -> dict[str, ColumnElement[bool]]:
    """The named filters as conditions; state and category are those of the projects or of other `columns`.

    The status stands in the text: one plan is right for each. Slugs and names are looked up in subqueries: joined, they
    would keep the planner from seeing that one category is one range of an index that is in the wanted order already.
    """
    project_id = columns.project_id if "project_id" in columns else columns.id
    owner_id = columns.get("owner_id", P.owner_id)
    category = select(categories.c.id).where(categories.c.slug == bindparam("category"))
    owner = select(users.c.id).where(users.c.username == bindparam("owner"))
    tagged = select(tags.c.project_id).where(tags.c.tag == bindparam("tag"))
    known: dict[str, Any] = {
        "status": lambda: columns.status == literal_column(f"'{Status(str(status))}'"),
        "category": lambda: columns.category_id == category.correlate(None).scalar_subquery(),
        "owner": lambda: owner_id == owner.correlate(None).scalar_subquery(),
        "owner_id": lambda: owner_id == bindparam("owner_id"),
        "voter_id": lambda: project_id.in_(select(upvotes.c.project_id).where(BY_VOTER)),
        "tag": lambda: project_id.in_(tagged),
        "tag_of_each": lambda: _one_tag(project_id).is_not(None),
        "q": lambda: search.found(project_id, dialect),
    }
    return {name: known[name]() for name in filters if name != "waiting"}  # for which `columns` are of `waiting`


def _one_tag(project_id: ColumnElement[int]) -> ColumnElement[Any]:
    found = select(tags.c.project_id).where(tags.c.tag == bindparam("tag"), tags.c.project_id == project_id)
    return found.correlate(project_id.table).scalar_subquery()
