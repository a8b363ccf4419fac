"""The parameters by which lists are narrowed to values of the operator's own fields: `field.[name]`."""

import math
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from marshmallow import ValidationError

from directory.http.fields import Day, Decimals, Strict
from directory.language.messages import _
from directory.services.catalog import own_fields, own_filters
from directory.services.catalog.fields import Kind
from directory.services.catalog.own_fields import MISSING, OwnField
from directory.services.catalog.own_filters import PARAMETER, SEPARATOR, Asked

TO = ".."
NUMBER = re.compile(r"-?\d{1,16}(\.\d{1,16})?", re.ASCII)
SINCE = date(1970, 1, 1)
NUMBERS, DAYS = Decimals(), Day()


class Narrowed(Strict):
    """A query that may have such parameters; the checked query has them as `own`, if there are any."""

    def load(self, data: Any, **kwargs: Any) -> Any:
        """The checked query. Raises ValidationError."""
        own = {name: text for name, text in data.items() if name.startswith(PARAMETER)}
        asked, refused = read(own)
        try:
            loaded = super().load({name: value for name, value in data.items() if name not in own}, **kwargs)
        except ValidationError as error:
            messages: Any = error.messages
            raise ValidationError({**messages, **refused}, valid_data=error.valid_data) from None
        if refused:
            raise ValidationError(refused)
        return {**loaded, "own": asked} if asked else loaded


def read(parameters: Mapping[str, str]) -> tuple[tuple[Asked, ...], dict[str, list[str]]]:
    """Check parameters: the filters, in the order of their names, and by parameter the errors of the others."""
    fields = own_filters.facets(own_fields.present()) if parameters else {}
    asked, refused = list[Asked](), dict[str, list[str]]()
    for parameter, text in sorted(parameters.items()):
        try:
            asked.append(_asked(fields.get(parameter.removeprefix(PARAMETER)), text.strip()))
        except ValidationError as error:
            refused[parameter] = [str(message) for message in error.messages]
    return tuple(asked), refused


def _asked(field: OwnField | None, text: str) -> Asked:
    """The filter that a text means. Raises ValidationError."""
    if field is None:
        raise ValidationError(_("Unknown field."))
    if text in ("", TO):
        raise ValidationError(MISSING)
    within = None if field.categories is None else tuple(sorted(field.categories))
    if field.kind in {Kind.NUMBER, Kind.DATE}:
        first, is_range, last = text.partition(TO)
        value = _day if field.kind is Kind.DATE else _number
        low, high = value(first or None, -math.inf), value(last or None if is_range else first, math.inf)
        return Asked(field.name, text, between=(low, high), categories=within)
    if field.kind is Kind.TRUTH and text not in field.values:
        raise ValidationError(_("Must be true or false."))
    chosen = tuple(sorted({choice for part in text.split(SEPARATOR) if (choice := part.strip())}))
    if not chosen:
        raise ValidationError(MISSING)
    return Asked(field.name, SEPARATOR.join(chosen), chosen, categories=within)


def _number(text: str | None, otherwise: float) -> float:
    if text is None:
        return otherwise
    if not NUMBER.fullmatch(text):
        raise ValidationError(_("Not a number."))
    return float(NUMBERS.deserialize(float(text)))


def _day(text: str | None, otherwise: float) -> float:
    """A day as the days since 1970, as the index has it."""
    return otherwise if text is None else (date.fromisoformat(DAYS.deserialize(text)) - SINCE).days
