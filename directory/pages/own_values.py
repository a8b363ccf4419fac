"""Lists on pages, narrowed by the operator's own fields: the filters of an address, and the links that change them."""

from collections.abc import Iterable, Mapping
from typing import Any

from directory.api.schemas.own_filters import TO, read
from directory.http import own_values
from directory.http.languages import chosen
from directory.language.messages import _
from directory.services.catalog import own_fields, own_filters
from directory.services.catalog.own_filters import PARAMETER, SEPARATOR, Asked

COMMA = _(", ")
FIRST, LAST = ".from", ".to"  # the two inputs of a range


def asked(query: Mapping[str, str]) -> tuple[Asked, ...]:
    """The filters that an address names; what narrows nothing is passed over."""
    return read({name: text for name, text in query.items() if name.startswith(PARAMETER)})[0]


def joined(query: Mapping[str, str]) -> dict[str, str] | None:
    """The parameters of an address with each two inputs of a range as one; None if it has no such inputs."""
    ends = {name for name in query if name.startswith(PARAMETER) and name.endswith((FIRST, LAST))}
    if not ends:
        return None
    left = {name: text for name, text in query.items() if name not in ends}
    for name in sorted({end.removesuffix(FIRST).removesuffix(LAST) for end in ends}):
        first, last = (query.get(name + end, "").strip().replace(",", ".") for end in (FIRST, LAST))
        left |= {name: f"{first}{TO}{last}"} if first or last else {}
    return left


def toggled(own: tuple[Asked, ...], name: str, value: str) -> tuple[Asked, ...]:
    """The filters with another value of a field, or without it if they have it."""
    values = next((narrowing.values for narrowing in own if narrowing.field == name), ())
    return with_text(own, name, SEPARATOR.join(sorted({*values} ^ {value})))


def with_text(own: Iterable[Asked], name: str, text: str) -> tuple[Asked, ...]:
    """The filters with this one by a field, or with an empty text without one."""
    others = [narrowing for narrowing in own if narrowing.field != name]
    return tuple(sorted([*others, *([Asked(name, text)] if text else [])]))


def words(own: Iterable[Asked]) -> list[tuple[str, str, str]]:
    """The filters in words: the name of each field, what it is narrowed to with its label, and without one beside."""
    defined, described, comma = own_fields.latest(), [], chosen().say(COMMA)
    for narrowing in own:
        field = defined[narrowing.field]
        said = comma.join(own_values.word(field, value) for value in narrowing.values) or _range(narrowing.text)
        described.append((narrowing.field, own_values.labelled(field, said), own_values.alone(field, said)))
    return described


def _range(text: str) -> str:
    """A range of numbers or days. An open one has a sign, for a dash would look like a minus."""
    first, is_range, last = text.partition(TO)
    if not is_range or (first and last):
        return text.replace(TO, "–")
    return f"≥ {first}" if first else f"≤ {last}"


def narrower(counted: Mapping[str, Mapping[str, int]], own: Iterable[Asked]) -> list[dict[str, Any]]:
    """What the side of a list has: the fields by which it can be narrowed, with their values or the ends of a range."""
    by_name = {narrowing.field: narrowing for narrowing in own}
    listed = []
    for name, field in own_filters.facets(own_fields.latest()).items():
        taken_by = by_name.get(name)
        about: dict[str, Any] = {"name": name, "label": own_values.title(field), "kind": field.kind.name.lower()}
        if field.kind in own_filters.COUNTED:
            taken = taken_by.values if taken_by else ()
            numbers = counted.get(name, {})
            values = [*numbers, *(value for value in taken if value in field.values and value not in numbers)]
            about["values"] = [
                (value, own_values.word(field, value), numbers.get(value, 0), value in taken) for value in values
            ]
        else:
            first, is_range, last = taken_by.text.partition(TO) if taken_by else ("", "", "")
            about["ends"] = (first, last if is_range else first)
        if about.get("values") or "ends" in about:
            listed.append(about)
    return listed
