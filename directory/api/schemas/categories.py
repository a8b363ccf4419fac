"""The schemas of categories."""

from marshmallow import fields

from directory.http.fields import Line, Prose, Slug, Strict
from directory.services.text.rules import CATEGORY_SLUG_MAX


class CategoryInput(Strict):
    """A category; for a change every field is optional."""

    slug = Slug(CATEGORY_SLUG_MAX, required=True)
    name = Line(1, 100, required=True)
    description = Prose(0, 500)


class CategoryOutput(Strict):
    """A category and its number of live projects."""

    slug = fields.String(required=True)
    name = fields.String(required=True)
    description = fields.String(required=True)
    live_projects = fields.Integer(required=True, dump_only=True, metadata={"minimum": 0})


class CategoryList(Strict):
    """All categories."""

    items = fields.List(fields.Nested(CategoryOutput), required=True)
