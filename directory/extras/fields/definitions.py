"""The definitions of own fields as they are stored, as rows of the table of fields."""

from typing import Any

from sqlalchemy import select

from directory.db.statements import Prepared
from directory.models import FIELDS_STAMP, Audience, FieldDefinition, FieldKind, FieldState
from directory.services.catalog.fields import Kind
from directory.services.catalog.own_fields import Definitions, OwnField, Words

KINDS = {
    FieldKind.TEXT: Kind.LINE,
    FieldKind.URL: Kind.REPOSITORY,
    FieldKind.NUMBER: Kind.NUMBER,
    FieldKind.DATE: Kind.DATE,
    FieldKind.TRUTH: Kind.TRUTH,
    FieldKind.CHOICE: Kind.CHOICE,
    FieldKind.CHOICES: Kind.CHOICES,
}
WITH_CHOICES = {FieldKind.CHOICE, FieldKind.CHOICES}
WITHOUT_FACET = {FieldKind.TEXT, FieldKind.URL}
SEARCHED = {FieldKind.TEXT, *WITH_CHOICES}
TEXT_MAX = 200
T: Any = FieldDefinition.__table__
PRESENT = T.c.state == FieldState.PRESENT.value
COLUMNS = (
    T.c.name, T.c.kind, T.c.choices, T.c.required, T.c.material, T.c.audience, T.c.search, T.c.categories, T.c.retired,
    T.c.label, T.c.facet, T.c.in_list,
)  # fmt: skip
_STAMP = Prepared(select(FIELDS_STAMP))
_ALL = Prepared(select(*COLUMNS).where(PRESENT).order_by(T.c.place, T.c.id))


def read() -> Definitions:
    """All fields, in their order. The number of their state is read first: it is never above the one that they have."""
    [(stamp,)] = _STAMP.all({})
    found = Definitions((row[0], _field(*row)) for row in _ALL.all({}))
    found.stamp = stamp or 0
    return found


def _field(
    name: str, kind: str, choices: list[dict[str, Any]], required: bool, material: bool, audience: str, search: bool,
    categories: list[int] | None, retired: bool, label: Words, facet: bool, in_list: bool,
) -> OwnField:  # fmt: skip
    return OwnField(
        name, KINDS[FieldKind(kind)], None, limits=(1, TEXT_MAX) if kind == FieldKind.TEXT else None,
        is_required=required, is_material=material, is_searched=search, is_private=audience == Audience.REVIEWERS,
        choices={choice["value"]: choice["retired"] for choice in choices},
        labels={choice["value"]: choice["label"] for choice in choices}, title=label,
        categories=None if categories is None else frozenset(categories), is_retired=retired, is_facet=facet,
        is_in_list=in_list,
    )  # fmt: skip
