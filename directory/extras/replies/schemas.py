"""The schemas of saved replies."""

import re

from marshmallow import ValidationError, fields, validates

from directory.http.fields import Line, Prose, Strict, Word
from directory.language.messages import _
from directory.models import ReplyDecision

NAMES = ("{title}", "{owner}", "{site}")
PLACEHOLDERS = re.compile("|".join(map(re.escape, NAMES)))
IN_BRACES = re.compile(r"\{\s*\w|\w\s*\}")  # also a word with one brace alone
UNKNOWN = _("These alone may be in braces: {names}.", names=", ".join(NAMES))
DECISIONS = tuple(decision.value for decision in ReplyDecision)


class ReplyInput(Strict):
    """A text for a decision.

    In `text`, `{title}`, `{owner}` and `{site}` stand for what the console fills in; no other word is in braces.
    """

    name = Line(1, 60, required=True)
    decision = Word(DECISIONS, required=True)
    text = Prose(1, 2000, required=True)

    @validates("text")
    def _known(self, text: str, **_kwargs: object) -> None:
        if IN_BRACES.search(PLACEHOLDERS.sub("x", text)):
            raise ValidationError(UNKNOWN)


class ReplyOutput(Strict):
    """A saved reply."""

    id = fields.Integer(required=True)
    name = fields.String(required=True)
    decision = Word(DECISIONS, required=True)
    text = fields.String(required=True)


class ReplyList(Strict):
    """All saved replies, by name."""

    items = fields.List(fields.Nested(ReplyOutput), required=True)
