"""Field types: how a value is read, refused, documented and written."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from marshmallow import Schema, ValidationError, fields

from directory.services.links import check_url
from directory.services.text import SLUG, clean_text
from directory.services.webhooks import timestamp


class Strict(Schema):
    """The base of every schema: unknown members are refused by name, and dumps keep the order of the fields."""

    class Meta:
        unknown = "raise"


class Checked(fields.String):
    """A string with a check of its own, which raises ValueError with the reason and may return another form."""

    check: Callable[[str], str]

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise ValidationError("Not a string.")
        try:
            return self.check(value)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class Line(Checked):
    """One line of visible text in NFC, of `minimum` to `maximum` characters."""

    multiline = False

    def __init__(self, minimum: int, maximum: int, **kwargs: Any) -> None:
        self.bounds = (minimum, maximum)
        super().__init__(**kwargs)
        self.metadata.setdefault("minLength", minimum)
        self.metadata.setdefault("maxLength", maximum)

    def check(self, value: str) -> str:  # type: ignore[override]
        """The text as it is stored."""
        return clean_text(value, minimum=self.bounds[0], maximum=self.bounds[1], multiline=self.multiline)


class Prose(Line):
    """Text that may hold line breaks and tabs."""

    multiline = True


class Link(Checked):
    """An http or https URL without credentials, to 2,048 characters."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.metadata.setdefault("format", "uri")
        self.metadata.setdefault("maxLength", 2048)
        self.metadata.setdefault("pattern", r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s<>\"\\@]+$")

    check = staticmethod(check_url)


class Matching(Checked):
    """A string of a pattern; `fold` lowers its case first."""

    def __init__(self, pattern: str, maximum: int, *, says: str, fold: bool = False, **kwargs: Any) -> None:
        self.pattern, self.maximum, self.says, self.fold = re.compile(pattern), maximum, says, fold
        super().__init__(**kwargs)
        self.metadata.setdefault("pattern", f"^({pattern})$")
        self.metadata.setdefault("maxLength", maximum)

    def check(self, value: str) -> str:  # type: ignore[override]
        """The value, if it is of the pattern."""
        value = value.lower() if self.fold else value
        if len(value) > self.maximum or not self.pattern.fullmatch(value):
            raise ValueError(self.says)
        return value


class Slug(Matching):
    """Lower-case letters and digits in words joined by hyphens."""

    def __init__(self, maximum: int, **kwargs: Any) -> None:
        says = f"Use 1 to {maximum} of a-z and 0-9 in words joined by single hyphens."
        super().__init__(SLUG.pattern.removeprefix("^").removesuffix("$"), maximum, says=says, **kwargs)
        self.metadata.setdefault("minLength", 1)


class Whole(fields.Integer):
    """A whole number of a query string, in plain ASCII digits, from `least` to `most`."""

    def __init__(self, least: int, most: int, *, says: str | None = None, **kwargs: Any) -> None:
        self.least, self.most = least, most
        self.says = says or f"Not a whole number from {least} to {most}."
        super().__init__(**kwargs)
        self.metadata.setdefault("minimum", least)
        self.metadata.setdefault("maximum", most)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> int:
        if not re.fullmatch(r"0|[1-9][0-9]*", value):
            raise ValidationError(f"Not a whole number from {self.least} to {self.most}.")
        if len(value) > 19 or not self.least <= int(value) <= self.most:
            raise ValidationError(self.says)
        return int(value)


class Word(Checked):
    """One of a few words."""

    def __init__(self, words: tuple[str, ...], **kwargs: Any) -> None:
        self.words = words
        super().__init__(**kwargs)
        self.metadata.setdefault("enum", list(words))

    def check(self, value: str) -> str:  # type: ignore[override]
        """The word."""
        if value not in self.words:
            raise ValueError(f"Must be one of: {', '.join(self.words)}.")
        return value


class Timestamp(fields.Field[datetime]):
    """An instant: read in RFC 3339 with any offset, written in UTC with Z and microseconds."""

    _PATTERN = re.compile(
        r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
    )

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.metadata.setdefault("type", ["string", "null"] if self.allow_none else "string")
        self.metadata.setdefault("format", "date-time")

    def _serialize(self, value: datetime | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else timestamp(value)

    def _deserialize(
        self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any
    ) -> datetime:
        try:
            if isinstance(value, str) and self._PATTERN.fullmatch(value):
                return datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        raise ValidationError("Not a time in RFC 3339, such as 2026-11-20T10:00:00Z.")
