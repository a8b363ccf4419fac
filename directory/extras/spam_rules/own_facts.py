"""The facts that rules may ask for of the operator's own fields: `field.[name]`."""

from collections.abc import Mapping

from directory.models import Judged
from directory.services.catalog import own_fields
from directory.services.catalog.fields import Kind
from directory.services.catalog.own_fields import OwnField
from directory.services.catalog.own_filters import PARAMETER

KINDS = {Kind.CHOICE: "choice", Kind.TRUTH: "truth", Kind.NUMBER: "number"}  # their types, by the kinds of fields
JUDGED = (Judged.SUBMISSION, Judged.EDIT)


def known() -> dict[str, tuple[str, tuple[Judged, ...]]]:
    """The facts by name: the type of each, and what has it."""
    return {f"{PARAMETER}{name}": (KINDS[field.kind], JUDGED) for name, field in _fields().items()}


def choices(fact: str) -> Mapping[str, bool]:
    """The choices of the field of a fact, by whether they are retired."""
    return _fields()[fact.removeprefix(PARAMETER)].choices


def _fields() -> dict[str, OwnField]:
    return {name: field for name, field in own_fields.present().items() if field.kind in KINDS}
