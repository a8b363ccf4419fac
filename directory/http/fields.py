"""Field types of schemas: parsing, validation, documentation and serialization of values."""

import re
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from flask import current_app, has_app_context
from marshmallow import Schema, ValidationError, fields, missing
from marshmallow.validate import Range

from directory.language.messages import _
from directory.services.catalog import periods, tags
from directory.services.clock import timestamp
from directory.services.text import markdown
from directory.services.text.characters import without_invisible
from directory.services.text.links import URL_MAX, check_url
from directory.services.text.repositories import web_address
from directory.services.text.rules import SLUG, TAG_MAX, clean_text, is_visible

# The patterns of texts in the OpenAPI document, in the syntax that JavaScript, Python and Rust share. They allow rare
# invisible characters and runs of combining marks, which the service refuses.
_NEVER = r"\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff"
_IN_LINES = rf"\u0000-\u001f\u007f-\u009f\u2028\u2029{_NEVER}"
# Python's white space includes the separators of files, groups, records and units.
_NOT_SPACES = rf"\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f{_NEVER}"
_UNSEEN = (
    r"\s\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u2060-\u206f\u2800\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0"
)
LINE_PATTERN = rf"^[^{_IN_LINES}]*[^{_IN_LINES}{_UNSEEN}][^{_IN_LINES}]*$"
PROSE_PATTERN = rf"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f{_NEVER}]*$"
LINK_PATTERN = (
    r"^[Hh][Tt][Tt][Pp][Ss]?://"
    r"(\[[0-9A-Fa-f:.]+\]|[^\s\u0000-\u002c\u002f\u003a-\u0040\u005b-\u005e\u0060\u007b-\u009f]+)(:[0-9]{1,5})?"
    r"([/?#][^\s\u0000-\u001f\u007f-\u009f\\<>\u0022]*)?$"
)


# Of the addresses for Git the most frequent form.
REPOSITORY_PATTERN = (
    rf"{LINK_PATTERN}|^git@(github\.com|gitlab\.com|codeberg\.org):[A-Za-z0-9-]+/[A-Za-z0-9_-]+(\.git)?$"
)

LONGER = 4  # times its limit: what a text may have before invisible characters and blanks are removed
NO_ID = _("An id is a positive whole number.")
BLANKS = " \t\u00a0"  # that a phone's keyboard adds to a word


def document(field: fields.Field[Any], **facts: Any) -> None:
    """Add facts about a field to the OpenAPI document; those from its declaration take precedence."""
    field.metadata = {**facts, **field.metadata}


class Strict(Schema):
    """The base of every schema: it refuses unknown members by name, and keeps the order of the fields.

    `rules` are JSON Schema keywords for the whole object in the OpenAPI document.
    """

    rules: ClassVar[dict[str, Any]] = {}

    class Meta:
        unknown = "raise"


class Checked(fields.String):
    """A string that `check` validates: it raises ValueError with the reason, and may return a normalized value.

    A string of more than `longest` characters, where that is given, is refused with `says` before anything else.
    """

    longest: int | None = None
    says = ""

    def check(self, value: str) -> str:
        """The value as it is stored. Raises ValueError."""
        raise NotImplementedError

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise ValidationError(_("Not a string."))
        if self.longest is not None and len(value) > self.longest:
            raise ValidationError(self.says)
        try:
            return self.check(value)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class Line(Checked):
    """One line of visible text in NFC, of `minimum` to `maximum` characters; invisible ones are removed."""

    multiline = False

    def __init__(self, minimum: int, maximum: int, **kwargs: Any) -> None:
        self.bounds = (minimum, maximum)
        super().__init__(**kwargs)
        document(self, minLength=minimum, maxLength=maximum, pattern=PROSE_PATTERN if self.multiline else LINE_PATTERN)

    def check(self, value: str) -> str:
        """The text as it is stored."""
        minimum, maximum = self.bounds
        return clean_text(
            value, minimum=minimum, maximum=maximum, multiline=self.multiline, only_visible=not self.multiline
        )


class OptionalLine(Line):
    """A line of at most `maximum` characters; a blank one is None."""

    def __init__(self, maximum: int, **kwargs: Any) -> None:
        super().__init__(0, maximum, allow_none=True, **kwargs)
        self.metadata = {**self.metadata, "pattern": f"^[^{_IN_LINES}]*$"}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        return text if is_visible(text) else None


class Search(Line):
    """A search of at most `maximum` characters. All white space becomes spaces; a blank search counts as absent."""

    def __init__(self, maximum: int, **kwargs: Any) -> None:
        super().__init__(0, maximum, **kwargs)
        self.metadata = {**self.metadata, "pattern": f"^[^{_NOT_SPACES}]*$"}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        if isinstance(value, str) and len(value) <= LONGER * self.bounds[1]:
            value = re.sub(r"\s", " ", value)
        text = super()._deserialize(value, attr, data, **kwargs)
        return text if is_visible(text) else missing


class Flag(fields.Boolean):
    """true or false, and no equivalent such as 1."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError(_("Must be true or false."))
        return value


class Truth(Flag):
    """true or false, also as text, as a query string has it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        document(self, type=["boolean", "string"], pattern="^(true|false)$")

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> bool:
        known = {"true": True, "false": False}
        return super()._deserialize(known.get(value, value) if isinstance(value, str) else value, attr, data, **kwargs)


class Prose(Line):
    """Text that may contain line breaks and tabs."""

    multiline = True


class RenderedMarkdown(fields.String):
    """The HTML of a Markdown text, made when the answer is written: after the transaction."""

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else markdown.html(value)


class Link(Checked):
    """An http or https URL without credentials, of up to 2,048 characters."""

    longest = 2 * URL_MAX
    says = _("Must have 1 to {number} characters.", number=URL_MAX)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        document(self, format="iri", minLength=8, maxLength=URL_MAX, pattern=LINK_PATTERN)

    def check(self, value: str) -> str:
        """The URL. Addresses of private networks are refused unless the operator allows them."""
        return check_url(value, internal=has_app_context() and current_app.config["ALLOW_INTERNAL_URLS"])


class Repository(Link):
    """The web address of a repository. What Git clones is taken too, of a host that is known to have both."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        about = (
            "An http or https URL. An address for Git (`git@host:path`, `git://`, `ssh://`, `git+https://`) becomes "
        )
        about += "the https address, if the host is known to have one."
        self.metadata = {"minLength": 8, "maxLength": URL_MAX, "pattern": REPOSITORY_PATTERN, "description": about}

    def check(self, value: str) -> str:
        """The https address."""
        return super().check(web_address(value))


class Matching(Checked):
    """A string that matches a pattern; `fold` first converts it to lower case, `trim` removes blanks at its ends."""

    def __init__(
        self, pattern: str, maximum: int, *, says: str, fold: bool = False, trim: bool = False, **kwargs: Any
    ) -> None:
        self.pattern, self.maximum, self.says, self.fold, self.trim = re.compile(pattern), maximum, says, fold, trim
        self.longest = LONGER * maximum
        super().__init__(**kwargs)
        shown = pattern.replace("a-z", "A-Za-z") if fold else pattern
        document(self, pattern=f"^[{BLANKS}]*({shown})[{BLANKS}]*$" if trim else f"^({shown})$", maxLength=maximum)

    def check(self, value: str) -> str:
        """The value, if it matches the pattern."""
        value = value.strip(BLANKS) if self.trim else value
        value = value.lower() if self.fold else value
        if len(value) > self.maximum or not self.pattern.fullmatch(value):
            raise ValueError(self.says)
        return value


class Slug(Matching):
    """Lower-case letters and digits in words joined by hyphens. Invisible characters are removed."""

    def __init__(self, maximum: int, **kwargs: Any) -> None:
        says = _("Use 1 to {maximum} of a-z and 0-9 in words joined by single hyphens.", maximum=maximum)
        super().__init__(SLUG.pattern.removeprefix("^").removesuffix("$"), maximum, says=says, **kwargs)
        document(self, minLength=1)

    def check(self, value: str) -> str:
        """The slug."""
        return super().check(without_invisible(value))


class Tags(Checked):
    """Up to five tags, separated by commas: in their order, each once. Without any it counts as absent."""

    _LONGEST = tags.MOST * (TAG_MAX + len(tags.SEPARATOR))
    longest = LONGER * _LONGEST
    says = _("Give at most {number} tags.", number=tags.MOST)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        tag = SLUG.pattern.removeprefix("^").removesuffix("$")
        pattern = rf"^[ ,]*({tag}( *,[ ,]*{tag}){{0,{tags.MOST - 1}}}[ ,]*)?$"
        document(self, pattern=pattern, maxLength=self._LONGEST)

    def check(self, value: str) -> str:
        """The tags, separated by commas."""
        value = without_invisible(value)
        names = tags.split(value)
        if len(names) > tags.MOST or len(value) > self._LONGEST:
            raise ValueError(self.says)
        if any(len(name) > TAG_MAX for name in names):
            raise ValueError(_("A tag has at most {number} characters.", number=TAG_MAX))
        return tags.SEPARATOR.join(map(Slug(TAG_MAX).check, names))

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        return super()._deserialize(value, attr, data, **kwargs) or missing


class Whole(fields.Integer):
    """An integer in a query string, in ASCII digits, from `least` to `most`."""

    def __init__(self, least: int, most: int, *, says: str | None = None, **kwargs: Any) -> None:
        self.least, self.most = least, most
        self.says = says or _("Not a whole number from {least} to {most}.", least=least, most=most)
        super().__init__(**kwargs)
        document(self, minimum=least, maximum=most)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> int:
        if not re.fullmatch(r"0|[1-9][0-9]*", value):
            raise ValidationError(_("Not a whole number from {least} to {most}.", least=self.least, most=self.most))
        if len(value) > 19 or not self.least <= int(value) <= self.most:
            raise ValidationError(self.says)
        return int(value)


class Number(fields.Integer):
    """A whole number of a body. 7.0 is one: JSON has a single type of numbers."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strict=True, **kwargs)

    def _validated(self, value: Any) -> int:
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        return super()._validated(whole)


class Decimals(fields.Field[Any]):
    """A finite number of at most 15 digits, six of them after the point. 1.50 is 1.5."""

    MOST, FRACTION = 15, 6

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        document(self, type="number")

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValidationError(_("Not a number."))
        if abs(value) < 10**self.MOST:
            _sign, digits, exponent = Decimal(str(value)).normalize().as_tuple()
            if len(digits) <= self.MOST and int(exponent) >= -self.FRACTION:
                return int(value) if value == int(value) else value
        raise ValidationError(
            _("At most {number} digits, {fraction} of them after the point.", number=self.MOST, fraction=self.FRACTION)
        )


class Day(Checked):
    """A day, as in 2026-11-26."""

    longest, says = 40, _("Not a day, such as 2026-11-26.")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        document(self, format="date")

    def check(self, value: str) -> str:
        """The day's text."""
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            raise ValueError(self.says)
        try:
            return date.fromisoformat(value).isoformat()
        except ValueError:
            raise ValueError(_("There is no such day.")) from None


class Within(Range):
    """A range of numbers. What it says of another one stays a message, which marshmallow's formatting would end."""

    def __init__(self, least: int, most: int, *, error: str) -> None:
        super().__init__(least, most, error=error)
        self.says = error

    def _format_error(self, value: Any, message: str) -> str:
        return self.says


class Word(Checked):
    """One of a few words."""

    def __init__(self, words: tuple[str, ...], **kwargs: Any) -> None:
        self.words = words
        super().__init__(**kwargs)
        document(self, enum=list(map(str, words)))

    def check(self, value: str) -> str:
        """The word."""
        if value not in self.words:
            raise ValueError(_("Must be one of: {words}.", words=", ".join(self.words)))
        return value


class Few(fields.List[Any]):
    """A list of `least` to `most` distinct values. Their number is checked before the values.

    Otherwise a long list of bad values would get an answer with an error for each, many times as long as the body.
    Values are distinct by `key`, by default the value itself.
    """

    def __init__(
        self,
        inner: fields.Field[Any],
        least: int,
        most: int,
        *,
        of: str,
        key: Callable[[Any], Hashable] | None = None,
        **kwargs: Any,
    ) -> None:
        self.least, self.most, self.of, self.key = least, most, of, key
        super().__init__(inner, **kwargs)
        document(self, **({"minItems": least} if least else {}), maxItems=most, uniqueItems=True)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> list[Any]:
        if isinstance(value, list) and not self.least <= len(value) <= self.most:
            raise ValidationError(_("Must be {least} to {most} {of}s.", least=self.least, most=self.most, of=self.of))
        # Each object is whole, also where a change has some members of the body alone.
        values = super()._deserialize(value, attr, data, **{**kwargs, "partial": False})
        if len(set(values if self.key is None else map(self.key, values))) < len(values):
            raise ValidationError(_("The same {of} is given twice.", of=self.of))
        return values


class Timestamp(fields.Field[datetime]):
    """A time: read in RFC 3339 with any offset, written in UTC with Z and microseconds."""

    _PATTERN = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:[0-5]\d)", re.ASCII)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        document(self, type="string", format="date-time")

    def _serialize(self, value: datetime | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else timestamp(value)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> datetime:
        try:
            if isinstance(value, str) and self._PATTERN.fullmatch(value):
                return datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        raise ValidationError(_("Not a time in RFC 3339, such as 2026-11-20T10:00:00Z."))


class DayOrTime(Timestamp):
    """A time as `Timestamp` reads it, or the beginning (with `end`, the end) of a day in UTC."""

    _DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

    def __init__(self, *, end: bool = False, **kwargs: Any) -> None:
        self.end = end
        super().__init__(**kwargs)
        described = {name: value for name, value in self.metadata.items() if name != "format"}
        self.metadata = {**described, "anyOf": [{"format": "date-time"}, {"format": "date"}]}

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> datetime:
        if not isinstance(value, str) or not self._DAY.fullmatch(value):
            return super()._deserialize(value, attr, data, **kwargs)
        try:
            day = date.fromisoformat(value)
        except ValueError:
            raise ValidationError(_("There is no such day.")) from None
        if self.end and day == date.max:
            return datetime.combine(day, time.max, UTC)
        return datetime.combine(day, time.min, UTC) + timedelta(days=self.end)


class Published(Checked):
    """A period of publication: a day, an ISO week, a month or a year in UTC."""

    longest, says = 2 * periods.LONGEST, periods.SAYS

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        described = "First approved within this day, ISO week, month or year in UTC: `2026-11-26`, `2026-W48`, "
        described += "`2026-11` or `2026`."
        # Few years have a week 53, which is therefore in no pattern.
        forms = ("", "-(0[1-9]|1[0-2])", "-W(0[1-9]|[1-4][0-9]|5[0-2])")
        patterns = [{"pattern": f"^(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{{2}}|[1-9][0-9]{{3}}){form}$"} for form in forms]
        document(self, anyOf=[{"format": "date"}, *patterns], description=described)

    def check(self, value: str) -> str:
        """The period's text."""
        return str(periods.parse(value))
