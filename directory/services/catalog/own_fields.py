"""Fields of the operator's own: their definitions as rows of the same `Field`, and the values that projects have.

The extra `fields` reads the definitions (`Extra.definitions`); without it there are none, and values are kept unseen. A
process keeps the definitions by the number of their state, which every statement with values reads along: so a list
needs no second statement, and shows no definition of before.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import date
from typing import Any, NamedTuple

from sqlalchemy import select

from directory.db.statements import Prepared
from directory.errors import Invalid
from directory.extensions import db
from directory.language.messages import _
from directory.models import FIELDS_STAMP, FieldDefinition, FieldKind
from directory.services.catalog import category_slugs, fields
from directory.services.catalog.fields import OWN_FIELDS, PREFIX, Field, Kind, flat, nested

Values = dict[str, Any]
Words = str | dict[str, str]
NOT_HERE = _("Projects of this category do not have this field.")
RETIRED = _("This field is not filled in any more.")
RETIRED_CHOICE = _("This choice is not offered any more: {choice}.")
MISSING = _("Missing data for required field.")


@dataclass(frozen=True, slots=True)
class OwnField(Field):
    """A field of the operator's own. `choices` maps values to whether they are retired, in their order.

    `categories` are the ids of the categories whose projects have it; None for all. `title` and the `labels` of choices
    are texts, or objects of texts by language.
    """

    _: KW_ONLY
    choices: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    labels: Mapping[str, Words] = dataclasses.field(default_factory=dict)
    title: Words = ""
    categories: frozenset[int] | None = None
    is_retired: bool = False
    is_facet: bool = False
    is_in_list: bool = False

    @property
    def values(self) -> tuple[str, ...]:
        """What the index has of its values, where these are known beforehand, in their order."""
        return ("true", "false") if self.kind is Kind.TRUTH else tuple(self.choices)

    def is_in(self, category_id: int | None) -> bool:
        """Whether projects of a category have it."""
        return self.categories is None or category_id in self.categories

    def known(self, value: Any) -> Any:
        """A stored value with the choices that there are, in their order; None if nothing is left."""
        if self.kind is Kind.CHOICES:
            return [each for each in self.choices if each in value] or None
        return None if self.kind is Kind.CHOICE and value not in self.choices else value


class Definitions(dict[str, OwnField]):
    """The own fields by name, in their order. `stamp` is the number of the state that they were read at."""

    stamp = 0

    def __init__(self, *fields: Any, **named: Any) -> None:
        super().__init__(*fields, **named)
        self._seen: dict[tuple[int, bool], list[tuple[str, Mapping[str, bool], bool]]] = {}

    def seen_in(self, category_id: int, *, to_all: bool) -> list[tuple[str, Mapping[str, bool], bool]]:
        """The fields that readers of a category's projects see: name, choices, and whether several may be chosen.

        Found once for a category, since each project that is read needs them.
        """
        key = category_id, to_all
        if key not in self._seen:
            self._seen[key] = [
                (name, field.choices, field.kind is Kind.CHOICES)
                for name, field in self.items()
                if field.is_in(category_id) and not (to_all and field.is_private)
            ]
        return self._seen[key]


NONE = Definitions()
_STAMP = Prepared(select(FIELDS_STAMP))


class Reader:
    """What reads the definitions of an application, and those that it read last."""

    def __init__(self, read: Callable[[], Definitions]) -> None:
        self.read, self.last = read, NONE


def of_stamp(stamp: int | None) -> Definitions:
    """The definitions, by the number of their state that a statement has just read: these, or the present ones."""
    reader: Reader | None = db.definitions
    if stamp is None or reader is None:
        return NONE
    known = reader.last
    if known.stamp != stamp:
        known = reader.last = reader.read()
    return known


def latest() -> Definitions:
    """The definitions that this process read last, without a statement: for values that were just read."""
    return NONE if db.definitions is None else db.definitions.last


def present() -> Definitions:
    """The definitions as they are now."""
    return NONE if db.definitions is None else of_stamp(_STAMP.all({})[0][0])


def shown(values: Mapping[str, Any], defined: Definitions, category_id: int, *, to_all: bool) -> Values:
    """The values of a project that a reader sees: public ones, or with `to_all` false all that its category has."""
    seen = {}
    for name, choices, are_several in defined.seen_in(category_id, to_all=to_all):
        value = values.get(name)
        if are_several and value is not None:
            value = [choice for choice in choices if choice in value] or None
        elif choices and value not in choices:
            continue
        if value is not None:
            seen[name] = value
    return seen


def stored(values: Mapping[str, Any], defined: Definitions) -> Values:
    """All values of a project of fields that are there, for the operator."""
    found = ((name, field.known(values[name])) for name, field in defined.items() if name in values)
    return {name: value for name, value in found if value is not None}


def said(text: Words, language: str, default: str) -> str:
    """A text of a definition in a language, else in that of the site, else in the first that it has."""
    return text if isinstance(text, str) else text.get(language) or text.get(default) or next(iter(text.values()))


def searched(values: Mapping[str, Any] | None, defined: Definitions, category_id: int) -> list[str]:
    """The texts by which a search finds a project: of public fields, of choices their labels in all languages."""
    found: list[str] = []
    for name, value in shown(values or {}, defined, category_id, to_all=True).items():
        field = defined[name]
        if field.is_searched:
            chosen = value if isinstance(value, list) else [value]
            labels = [field.labels.get(each, each) for each in chosen]
            found += [text for label in labels for text in ([label] if isinstance(label, str) else label.values())]
    return found


def typed(own: OwnField | None, text: str) -> Any:
    """What a text stands for in a body; the text itself, which will be refused, if it stands for nothing."""
    if own is not None and own.kind is Kind.TRUTH:
        return {"true": True, "false": False}.get(text, text)
    try:
        return float(text.replace(",", ".")) if own is not None and own.kind is Kind.NUMBER else text
    except ValueError:
        return text


def in_revision(revision: dict[str, Any] | None, defined: Definitions) -> dict[str, Any] | None:
    """The changes of a live project, waiting or rejected, without values of own fields that are gone."""
    if revision is None or not any(OWN_FIELDS in revision.get(part, {}) for part in ("changes", "rejected")):
        return revision
    seen: dict[str, Any] = {
        part: of_present(revision[part], defined) for part in ("changes", "rejected") if part in revision
    }
    return {**revision, **seen}


def public_changes(changes: Mapping[str, Any], category_id: int) -> dict[str, Any]:
    """The changes of an edit, with those of public own fields alone, as the project's category has them."""
    if not any(name.startswith(PREFIX) for name in changes):
        return dict(changes)
    defined = present()
    hidden = {f"{PREFIX}{name}" for name, field in defined.items() if field.is_private or not field.is_in(category_id)}
    return {
        name: change
        for name, change in changes.items()
        if not name.startswith(PREFIX) or (name not in hidden and name.removeprefix(PREFIX) in defined)
    }


def of_present(changes: Mapping[str, Any], defined: Definitions) -> dict[str, Any]:
    """The values of a case by field, without own fields that are gone, and without choices that are."""
    found = flat(changes)
    for name in [name for name in found if name.startswith(PREFIX)]:
        value, own = found.pop(name), defined.get(name.removeprefix(PREFIX))
        if own is not None and (value is None or own.known(value) is not None):
            found[name] = value if value is None else own.known(value)
    return nested(found)


def refusals(
    given: Mapping[str, Any], held: Mapping[str, tuple[Any, ...]], after: Mapping[str, Any], category_id: int | None,
    defined: Definitions,
) -> list[dict[str, str]]:  # fmt: skip
    """What is wrong with given values of own fields, each of which has the right kind.

    `held` are by name the values that the project has, or that wait for review: these may be given again. `after` are
    the values of the project as it would be.
    """
    found = {name: said for name, value in given.items() if (said := _refused(name, value, held, category_id, defined))}
    for name, field in defined.items():
        is_asked = field.is_required and not field.is_retired and field.is_in(category_id)
        if is_asked and name not in found and after.get(name) is None:
            found[name] = MISSING
    return [{"pointer": f"#/{OWN_FIELDS}/{name}", "detail": said} for name, said in found.items()]


def of_submission(given: dict[str, Any]) -> list[dict[str, str]]:
    """The errors of a submission that need the database: `fields.refusals`, and those of its own fields.

    The submission gets the id of its category, which is not asked for again: if it is deleted meanwhile, the foreign
    key refuses it.
    """
    category_id, stamp = category_slugs.id_and_stamp(given.get("category", ""))
    given["category_id"] = category_id
    own = given.get(OWN_FIELDS) or {}
    return [*fields.refusals(given, category_id), *refusals(own, {}, own, category_id, of_stamp(stamp))]


def _refused(
    name: str, value: Any, held: Mapping[str, tuple[Any, ...]], category_id: int | None, defined: Definitions
) -> str | None:
    field, had = defined.get(name), held.get(name, ())
    if field is None:
        return _("Unknown field.")
    if value is None:
        return None
    if not field.is_in(category_id):
        return NOT_HERE
    if field.is_retired and value not in had:
        return RETIRED
    chosen = value if field.kind is Kind.CHOICES else [value] if field.kind is Kind.CHOICE else []
    kept = {choice for each in had if each is not None for choice in (each if isinstance(each, list) else [each])}
    gone = next((choice for choice in chosen if field.choices.get(choice, True) and choice not in kept), None)
    return None if gone is None else RETIRED_CHOICE.filled(choice=gone)


def require(
    given: Mapping[str, Any], held: Mapping[str, tuple[Any, ...]], after: Mapping[str, Any], category_id: int | None,
    defined: Definitions,
) -> None:  # fmt: skip
    """Raise Invalid with `refusals`, if there are any."""
    if found := refusals(given, held, after, category_id, defined):
        raise Invalid(found)


class Indexed(NamedTuple):
    """A value in the index of values, as the triggers of `projects` write it."""

    field: str
    value: str
    number: float | None


def kinds() -> dict[str, str]:
    """The kinds of all own fields by name, of deleted ones too."""
    return dict(db.session.execute(select(FieldDefinition.name, FieldDefinition.kind)).all())


def index_of(values: Mapping[str, Any], kinds: Mapping[str, str]) -> set[Indexed]:
    """What the index has of the values of a project."""
    return {row for name, value in values.items() if name in kinds for row in _indexed(name, value, kinds[name])}


def _indexed(name: str, value: Any, kind: str) -> list[Indexed]:
    if kind == FieldKind.CHOICES:
        return [Indexed(name, each, None) for each in value]
    if kind in {FieldKind.CHOICE, FieldKind.TRUTH}:
        return [Indexed(name, str(value).lower() if kind == FieldKind.TRUTH else value, None)]
    number = (date.fromisoformat(value) - date(1970, 1, 1)).days if kind == FieldKind.DATE else value
    return [Indexed(name, "", number if kind in {FieldKind.DATE, FieldKind.NUMBER} else None)]
