"""The filters of a list as SQL conditions."""

from typing import Any

from sqlalchemy import ColumnElement, bindparam, literal_column, select

from directory.models import Category, Project, ProjectTag, Status, Upvote, User
from directory.services.catalog import search

categories, users = Category.__table__, User.__table__
tags, upvotes = ProjectTag.__table__, Upvote.__table__
P = Project.__table__.c

BY_VOTER = upvotes.c.user_id == bindparam("voter_id")


def without_query(filters: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the filters other than the query."""
    return tuple(name for name in filters if name != "q")


def by_project(filters: tuple[str, ...]) -> tuple[str, ...]:
    """The filters with the tag looked up for each project, instead of a list of all projects with the tag."""
    return tuple("tag_of_each" if name == "tag" else name for name in filters)


def conditions(
    filters: tuple[str, ...], status: str | None, dialect: str, columns: Any = P
) -> dict[str, ColumnElement[bool]]:
    """The named filters as conditions; state and category are columns of the projects or of other `columns`.

    The status is part of the SQL text, because each status needs its own plan. Slugs and names are looked up in
    subqueries: with a join the planner would not see that one category is one range of an index, already in the order
    of the list.
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
    return {name: known[name]() for name in filters if name != "waiting"}  # its table is the condition


def _one_tag(project_id: ColumnElement[int]) -> ColumnElement[Any]:
    found = select(tags.c.project_id).where(tags.c.tag == bindparam("tag"), tags.c.project_id == project_id)
    return found.correlate(project_id.table).scalar_subquery()
