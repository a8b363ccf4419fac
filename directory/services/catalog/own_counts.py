"""How many live projects have a value of an own field, as triggers count them by category."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from sqlalchemy import Text, bindparam, func, select

from directory.db.statements import Prepared, among
from directory.extensions import db
from directory.models import FieldCount, Status
from directory.services.catalog import own_fields
from directory.services.catalog.category_slugs import id_asked_for
from directory.services.catalog.fields import Kind
from directory.services.catalog.filters import Filters
from directory.services.catalog.own_fields import OwnField
from directory.services.catalog.own_filters import Asked

C = FieldCount.__table__.c
BY_CATEGORY = {"status", "category"}  # filters of lists whose values are counted


def are_known(filters: Filters) -> bool:
    """Whether the values of the projects of a list are counted: all live ones, or those of a category."""
    return filters.status == Status.LIVE and {*filters.given()} <= BY_CATEGORY


def by_value(filters: Filters, fields: Mapping[str, OwnField]) -> dict[str, dict[str, int]]:
    """The numbers by field and value, of projects whose category has the field."""
    asked = {} if filters.category is None else {"category": filters.category}
    found: dict[str, dict[str, int]] = {}
    rows = _statement(tuple(asked), db.engine.dialect.name).all({**asked, "fields": [*fields]})
    for name, value, category_id, number in rows:
        if fields[name].is_in(category_id):
            of_field = found.setdefault(name, {})
            of_field[value] = of_field.get(value, 0) + number
    return found


def number(filters: Filters) -> int | None:
    """The number of live projects with a value or a number in a range, of all categories or of one.

    None for other lists. Of a field with several choices, projects with any of some may have two of them.
    """
    one = filters.own[0] if filters.own is not None and len(filters.own) == 1 else None
    if one is None or filters.status != Status.LIVE or not {*filters.given()} <= {*BY_CATEGORY, "own"}:
        return None
    if len(one.values) > 1 and own_fields.present()[one.field].kind is Kind.CHOICES:
        return None
    given: dict[str, Any] = {"field": one.field}
    if one.between is None:
        given["values"] = [*one.values]
    else:
        given["first"], given["last"] = one.between
    given |= {} if filters.category is None else {"category": filters.category}
    given |= {} if one.categories is None else {"within": [*one.categories]}
    [[number]] = _number(tuple(given), db.engine.dialect.name).all(given)
    return int(number)


def at_most(asked: Iterable[Asked]) -> int:
    """How many live projects may meet all of these conditions: as many as have a value of the one that fewest meet."""
    return min(sum(number(Filters(status=Status.LIVE, own=(one,))) or 0 for one in each.singly()) for each in asked)


@cache
def _statement(names: tuple[str, ...], dialect: str) -> Prepared:
    counted = select(C.field, C.value, C.category_id, C.live_projects)
    counted = counted.where(among(C.field, dialect, "fields", Text))
    return Prepared(counted.where(C.category_id == id_asked_for()) if "category" in names else counted)


@cache
def _number(names: tuple[str, ...], dialect: str) -> Prepared:
    counted = select(func.coalesce(func.sum(C.live_projects), 0)).where(C.field == bindparam("field", type_=Text))
    conditions = {
        "values": among(C.value, dialect, "values", Text),
        "first": (C.value == "") & C.number.between(bindparam("first"), bindparam("last")),
        "category": C.category_id == id_asked_for(),
        "within": among(C.category_id, dialect, "within"),
    }
    return Prepared(counted.where(*(condition for name, condition in conditions.items() if name in names)))
