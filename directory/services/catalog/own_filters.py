"""Lists narrowed by fields of the operator's own, by the index of their values, and what these narrow a list to."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Float, Text, bindparam, func, literal_column, select

from directory.db.statements import among
from directory.models import ProjectField
from directory.services.catalog.columns import unindexed
from directory.services.catalog.fields import Kind
from directory.services.catalog.own_fields import Definitions, OwnField

PARAMETER = "field."  # stands before the name of a field in parameters of lists, columns of CSV and facts of rules
MOST = 20  # values of a field among the facets
SEPARATOR = ","
COUNTED = {Kind.TRUTH, Kind.CHOICE, Kind.CHOICES}
_CONDITION = "own_"  # what stands before the names of the conditions
_OF_EACH = "-of-each"
F = ProjectField.__table__.c


class Asked(NamedTuple):
    """A filter: the projects that have any of the `values` of a field, or one `between` two numbers.

    `text` is the parameter. `categories` are the ids of those whose projects have the field; None for all.
    """

    field: str
    text: str
    values: tuple[str, ...] = ()
    between: tuple[float, float] | None = None
    categories: tuple[int, ...] | None = None

    def singly(self) -> list["Asked"]:
        """A filter for each of the values, or the range."""
        return [self._replace(values=(value,)) for value in self.values] if self.between is None else [self]


def texts(asked: Iterable[Asked]) -> dict[str, str]:
    """The parameters of filters."""
    return {f"{PARAMETER}{each.field}": each.text for each in asked}


def facets(defined: Definitions) -> dict[str, OwnField]:
    """The fields by which everybody may narrow lists."""
    return {
        name: field
        for name, field in defined.items()
        if field.is_facet and not field.is_private and not field.is_retired
    }


def narrowing(asked: Iterable[Asked]) -> dict[str, Any]:
    """The names of the conditions of filters, with what they compare with."""
    found: dict[str, Any] = {}
    for number, each in enumerate(asked):
        found[f"{_CONDITION}{'values' if each.between is None else 'between'}_{number}"] = [*each.values]
        if each.categories is not None:
            found[f"{_CONDITION}within_{number}"] = [*each.categories]
    return found


def parameters(asked: Iterable[Asked]) -> dict[str, Any]:
    """The other parameters of these conditions."""
    found: dict[str, Any] = {}
    for number, each in enumerate(asked):
        first, last = each.between or (None, None)
        names = ("field", each.field), ("first", first), ("last", last)
        found |= {f"{_CONDITION}{name}_{number}": value for name, value in names}
    return found


def others(names: Collection[str]) -> set[str]:
    """The names of the conditions of a list that are none of own fields."""
    return {name for name in names if not name.startswith(_CONDITION)}


def by_each(names: Iterable[str], *, is_of_each: bool = True) -> tuple[str, ...]:
    """The names of conditions with values looked up for each project, or by a list of all projects with these."""
    what, looked_up = rf"^({_CONDITION}(?:values|between))(?:{_OF_EACH})?_", rf"\1{_OF_EACH if is_of_each else ''}_"
    return tuple(re.sub(what, looked_up, name) for name in names)


def condition(name: str, project_id: Any, category_id: Any, dialect: str) -> ColumnElement[bool]:
    """The condition of that name on the projects of a list.

    A project of a category that does not have the field keeps its value unseen, so its category is looked at, too.
    """
    what, number = name.removeprefix(_CONDITION).split("_")
    if what == "within":
        found: ColumnElement[bool] = among(category_id, dialect, name)
        return found
    what, is_of_each, _ = what.partition(_OF_EACH)
    field: Any = bindparam(f"{_CONDITION}field_{number}")
    if what == "values":
        is_met = (F.field == field) & among(F.value, dialect, f"{_CONDITION}values_{number}", Text)
    else:
        first, last = (bindparam(f"{_CONDITION}{end}_{number}", type_=Float(53)) for end in ("first", "last"))
        name, value = (_unindexed(column, dialect) if is_of_each else column for column in (F.field, F.number))
        is_met = (name == field) & value.between(first, last)
    ids = select(F.project_id).where(is_met)
    if is_of_each:
        one = ids.where(F.project_id == project_id).limit(literal_column("1")).correlate(project_id.table)
        return one.scalar_subquery().is_not(None)  # EXISTS may become a join
    return project_id.in_(ids)  # type: ignore[no-any-return]


def _unindexed(column: Any, dialect: str) -> Any:
    """The column for a condition on one project: so neither database reads the whole range of the index of numbers.

    SQLite always would, PostgreSQL where it has no statistics.
    """
    return unindexed(column, dialect) if dialect == "sqlite" else func.coalesce(column, column)


def narrower(
    counted: Mapping[str, Mapping[str, int]], fields: Mapping[str, OwnField], asked: Iterable[Asked]
) -> dict[str, dict[str, int]]:
    """The numbers of projects by the values of each field: most first, equals in its order, the chosen ones always."""
    chosen = {each.field: each.values for each in asked}
    found: dict[str, dict[str, int]] = {}
    for name, field in fields.items():
        if field.kind in COUNTED:
            numbers = counted.get(name, {})
            known = sorted((value for value in field.values if numbers.get(value)), key=lambda value: -numbers[value])
            first = sorted(known, key=lambda value: value not in chosen.get(name, ()))[:MOST]
            found[name] = {value: numbers[value] for value in known if value in first}
    return found
