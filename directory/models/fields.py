"""Fields of the operator's own: their definitions, and the index of the values that projects have."""

from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Float, ForeignKey, Index, String, UniqueConstraint, func, select
from sqlalchemy.orm import Mapped, mapped_column

from directory.extensions import db
from directory.models.base import BigId, Id, JsonIds, JsonList, JsonObject, one_of, only_where
from directory.models.projects import OfProject


class FieldKind(StrEnum):
    """The kinds of own fields."""

    TEXT = "text"
    URL = "url"
    NUMBER = "number"
    DATE = "date"
    TRUTH = "truth"
    CHOICE = "choice"
    CHOICES = "choices"


class Audience(StrEnum):
    """Who sees the values of an own field, besides the owner of the project and administrators."""

    PUBLIC = "public"
    REVIEWERS = "reviewers"


class FieldState(StrEnum):
    """Whether a field is there. Of a deleted one values are left, until it is gone and its name is free again."""

    PRESENT = "present"
    LEAVING = "leaving"
    GONE = "gone"


class FieldDefinition(db.Model):  # type: ignore[name-defined,misc]
    """A field of the operator's own.

    `label`, `help` and the labels of `choices` are texts, or objects of texts by language. `categories` are ids, null
    for all. `version` is what its ETag names. Every change of any definition, or of their order, sets the `stamp` of a
    row to a number above all others: the highest one identifies the state of all definitions. So no row is deleted.
    `indexed_to` is the id of the project up to which the search index has followed the last change; null for all.
    """

    __tablename__ = "field_definitions"
    __table_args__ = (
        UniqueConstraint("name"),
        Index(None, "stamp"),  # the state of all definitions, which every answer with projects reads
        one_of("kind", FieldKind),
        one_of("audience", Audience),
        one_of("state", FieldState),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(String(32))
    place: Mapped[int]
    kind: Mapped[str] = mapped_column(String(16))
    label: Mapped[Any] = mapped_column(JsonObject, nullable=False)
    help: Mapped[Any] = mapped_column(JsonObject, nullable=False)
    choices: Mapped[list[dict[str, Any]]] = mapped_column(JsonList)
    required: Mapped[bool]
    material: Mapped[bool]
    audience: Mapped[str] = mapped_column(String(16))
    facet: Mapped[bool]
    in_list: Mapped[bool]
    search: Mapped[bool]
    categories: Mapped[list[int] | None] = mapped_column(JsonIds)
    retired: Mapped[bool]
    state: Mapped[str] = mapped_column(String(16), default=FieldState.PRESENT)
    version: Mapped[int]
    stamp: Mapped[int]
    indexed_to: Mapped[int | None] = mapped_column(BigInteger)


# The number of the state of all definitions, for statements that read values; null if there was never one.
FIELDS_STAMP = select(func.max(FieldDefinition.stamp)).scalar_subquery()


class ProjectField(db.Model):  # type: ignore[name-defined,misc]
    """A value of an own field of a project, maintained by triggers from `projects.fields`: the index of the values.

    A choice is its value, a truth `true` or `false`. Of numbers, and of dates as days since 1970, there is `number`;
    their `value` is empty, as that of texts and addresses is.
    """

    __tablename__ = "project_fields"
    __table_args__ = (
        Index(None, "project_id"),  # a project's values, when they change or it goes
        Index(None, "field", "number", "project_id", **only_where("number IS NOT NULL")),  # ranges
    )

    field: Mapped[str] = mapped_column(String(32), primary_key=True)
    value: Mapped[str] = mapped_column(String(40), primary_key=True)
    project_id: Mapped[OfProject]
    number: Mapped[float | None] = mapped_column(Float(53))


class FieldCount(db.Model):  # type: ignore[name-defined,misc]
    """How many live projects of a category have a value, as `ProjectField` has it, counted by triggers on `projects`.

    Texts and addresses are not counted. `number` is 0 where a value has none. A counter that reaches zero is deleted.
    """

    __tablename__ = "field_counts"
    __table_args__ = (CheckConstraint("live_projects >= 0", name="live_projects"),)

    field: Mapped[str] = mapped_column(String(32), primary_key=True)
    value: Mapped[str] = mapped_column(String(40), primary_key=True)
    number: Mapped[float] = mapped_column(Float(53), primary_key=True)
    category_id: Mapped[int] = mapped_column(
        BigId, ForeignKey("categories.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    live_projects: Mapped[int] = mapped_column(BigId)
