"""The schemas of own fields: as administrators define them, and as everybody reads them."""

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields, post_load

from directory.extras.fields.editing import MOST
from directory.http.fields import Few, Flag, Line, Matching, OptionalLine, Slug, Strict, Word, document
from directory.http.languages import of_app
from directory.language.messages import _
from directory.models import Audience, FieldKind
from directory.services.text.rules import CATEGORY_SLUG_MAX

KINDS, AUDIENCES = tuple(map(str, FieldKind)), tuple(map(str, Audience))
NAME = r"[a-z][a-z0-9_]*"
NAME_MAX, LABEL_MAX, HELP_MAX, VALUE_MAX, CHOICES_MAX, CATEGORIES_MAX = 32, 60, 200, 40, 100, 1_000
WORDS = {"type": ["string", "object"], "additionalProperties": {"type": "string"}}
SAYS_NAME = _("Use 1 to {maximum} of a-z, 0-9 and _, beginning with a letter.", maximum=NAME_MAX)


class Words(fields.Field[Any]):
    """One line of text, or an object of lines by language, the site's among them."""

    def __init__(self, least: int, most: int, **kwargs: Any) -> None:
        self.line: fields.Field[Any] = Line(least, most) if least else OptionalLine(most)
        super().__init__(**kwargs)
        document(self, **WORDS)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        if not isinstance(value, dict):
            return self.line.deserialize(value) or ""
        site = of_app()
        if unknown := next((tag for tag in value if tag not in site.tags), None):
            raise ValidationError(_("This is none of the site's languages: {tag}.", tag=unknown[:40]))
        if site.default not in value:
            raise ValidationError(_("The site's language is missing: {tag}.", tag=site.default))
        return {tag: self.line.deserialize(value[tag]) or "" for tag in site.tags if tag in value}


class ChoiceInput(Strict):
    """A choice. One that is `retired` is offered no more, and stays where it is."""

    value = Slug(VALUE_MAX, required=True, metadata={"examples": ["mit"]})
    label = Words(1, LABEL_MAX, required=True)
    retired = Flag(metadata={"description": "False by default."})

    @post_load
    def complete(self, choice: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """The choice with all members."""
        return {"retired": False, **choice}


class FieldInput(Strict):
    """A field. `name` and `kind` never change; `choices` are for the kinds that have them, and required there."""

    name = Matching(NAME, NAME_MAX, says=SAYS_NAME, required=True, metadata={"examples": ["license"]})
    label = Words(1, LABEL_MAX, required=True)
    help = Words(0, HELP_MAX)
    kind = Word(KINDS, required=True)
    choices = Few(fields.Nested(ChoiceInput), 1, CHOICES_MAX, of="choice", key=lambda choice: choice["value"])
    required = Flag()
    material = Flag(metadata={"description": "Whether an edit by the owner waits for review; true by default."})
    audience = Word(AUDIENCES, metadata={"description": "`reviewers`: the owner, reviewers and administrators alone."})
    facet = Flag()
    in_list = Flag()
    search = Flag()
    categories = Few(
        Slug(CATEGORY_SLUG_MAX), 0, CATEGORIES_MAX, of="category", allow_none=True,
        metadata={"description": "The categories whose projects have it; null for all."},
    )  # fmt: skip
    retired = Flag(metadata={"description": "Whether it is offered no more; values stay."})


class FieldOrderInput(Strict):
    """The names of all fields in their order."""

    order = Few(Matching(NAME, NAME_MAX, says=SAYS_NAME), 0, MOST, of="name", required=True)


class AdminChoice(Strict):
    """A choice, and how many projects have it."""

    value = fields.String(required=True)
    label = fields.Raw(required=True, metadata=WORDS)
    retired = fields.Boolean(required=True)
    projects = fields.Integer(required=True, metadata={"minimum": 0})


class AdminField(Strict):
    """A field as administrators define it, and how many projects have a value."""

    name = fields.String(required=True)
    label = fields.Raw(required=True, metadata=WORDS)
    help = fields.Raw(required=True, metadata=WORDS)
    kind = Word(KINDS, required=True)
    choices = fields.List(fields.Nested(AdminChoice), required=True)
    required = fields.Boolean(required=True)
    material = fields.Boolean(required=True)
    audience = Word(AUDIENCES, required=True)
    facet = fields.Boolean(required=True)
    in_list = fields.Boolean(required=True)
    search = fields.Boolean(required=True)
    categories = fields.List(fields.String(), required=True, allow_none=True)
    retired = fields.Boolean(required=True)
    projects = fields.Integer(required=True, metadata={"minimum": 0})


class AdminFieldList(Strict):
    """All fields, in their order."""

    items = fields.List(fields.Nested(AdminField), required=True)


class ShownChoice(Strict):
    """A choice that is offered."""

    value = fields.String(required=True)
    label = fields.String(required=True)


class ShownField(Strict):
    """A field of projects that the operator has added, with its texts in the language of the answer."""

    name = fields.String(required=True)
    label = fields.String(required=True)
    help = fields.String(required=True)
    kind = Word(KINDS, required=True)
    choices = fields.List(fields.Nested(ShownChoice), required=True)
    required = fields.Boolean(required=True)
    facet = fields.Boolean(required=True)
    in_list = fields.Boolean(required=True)
    categories = fields.List(fields.String(), required=True, allow_none=True)
    audience = Word(AUDIENCES, required=True)


class ShownFieldList(Strict):
    """The fields that the caller may see or fill in, in their order."""

    items = fields.List(fields.Nested(ShownField), required=True)
