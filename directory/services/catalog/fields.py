"""The fields of a project that its owner writes, in one table, and how they become columns."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from directory.errors import Invalid
from directory.extensions import db
from directory.models import Category, Project
from directory.services.links import url_key
from directory.services.text import slugify

NO_CATEGORY = "There is no such category."

Changes = dict[str, dict[str, Any]]  # by field an object with `from` and `to`


@dataclass(frozen=True, slots=True)
class Field:
    """A field that the owner of a project writes.

    A live project's material fields are reviewed again when they change. What a search looks at is `is_searched`.
    """

    name: str
    is_material: bool = False
    is_searched: bool = False


FIELDS = (
    Field("title", is_material=True, is_searched=True),
    Field("tagline", is_material=True, is_searched=True),
    Field("description", is_material=True, is_searched=True),
    Field("url", is_material=True, is_searched=True),
    Field("repository_url", is_material=True),
    Field("logo_url", is_material=True),
    Field("logo", is_material=True),
    Field("category"),
    Field("tags", is_searched=True),
)
NAMES = tuple(field.name for field in FIELDS)
MATERIAL = frozenset(field.name for field in FIELDS if field.is_material)
SEARCHED = frozenset(field.name for field in FIELDS if field.is_searched)


def reviewed(review_on_edit: str) -> tuple[str, ...]:
    """The fields of a live project that need review when its owner changes them, by REVIEW_ON_EDIT."""
    names = {"always": frozenset(NAMES), "material": MATERIAL, "never": frozenset[str]()}[review_on_edit]
    return tuple(name for name in NAMES if name in names)


def current(project: Project, names: Iterable[str]) -> dict[str, Any]:
    """What a project says in some of its fields, as callers write it: a category by its slug."""
    return {name: _category_slug(project) if name == "category" else getattr(project, name) for name in names}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Changes:
    """The fields of `after` that differ from `before`, each with both values."""
    return {name: {"from": before[name], "to": value} for name, value in after.items() if before[name] != value}


def assign(project: Project, changes: Changes) -> None:
    """Give a project the new values, and the columns that follow from them. Raises Invalid."""
    for name, value in columns({name: change["to"] for name, change in changes.items()}).items():
        setattr(project, name, value)


def columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Validated fields as columns, those that follow from them included. Raises Invalid."""
    found = dict(fields)
    if "category" in found:
        found["category_id"] = _category_id(found.pop("category"))
    if "title" in found:
        found["slug"] = slugify(found["title"])
    if "url" in found:
        found["url_key"] = url_key(found["url"])
    return found


def refusals(fields: Mapping[str, Any]) -> list[dict[str, str]]:
    """What the rules refuse of fields that are valid by themselves, as the errors of an answer."""
    if "category" not in fields or _find_category(fields["category"]) is not None:
        return []
    return [{"pointer": "#/category", "detail": NO_CATEGORY}]


def are_searched(names: Collection[str]) -> bool:
    """Whether a search looks at one of the fields."""
    return not SEARCHED.isdisjoint(names)


def _category_slug(project: Project) -> str | None:
    return db.session.scalar(select(Category.slug).where(Category.id == project.category_id))


def _category_id(slug: str) -> int:
    found = _find_category(slug)
    if found is None:
        raise Invalid.field("category", NO_CATEGORY)
    return found


def _find_category(slug: str) -> int | None:
    return db.session.scalar(select(Category.id).where(Category.slug == slug))
