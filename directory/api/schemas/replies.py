"""The schemas of saved replies."""

from marshmallow import fields

from directory.http.fields import Line, Prose, Strict, Word
from directory.models import ReplyDecision

DECISIONS = tuple(decision.value for decision in ReplyDecision)


class ReplyInput(Strict):
    """A text for a decision. In `text`, `{title}`, `{owner}` and `{site}` stand for what the console fills in."""

    name = Line(1, 60, required=True)
    decision = Word(DECISIONS, required=True)
    text = Prose(1, 2000, required=True)


class ReplyOutput(Strict):
    """A saved reply."""

    id = fields.Integer(required=True)
    name = fields.String(required=True)
    decision = Word(DECISIONS, required=True)
    text = fields.String(required=True)


class ReplyList(Strict):
    """All saved replies, by name."""

    items = fields.List(fields.Nested(ReplyOutput), required=True)
