"""The schemas of appeals and of their outcomes."""

from marshmallow import fields

from directory.api.schemas.messages import ANSWER_MAX
from directory.extras.appeals.appeals import KINDS
from directory.http.fields import Prose, Strict, Word


class AppealInput(Strict):
    """Why the owner asks for another look."""

    text = Prose(1, ANSWER_MAX, required=True)


class OutcomeInput(Strict):
    """The outcome of an appeal, and the reason for the owner."""

    outcome = Word(tuple(KINDS), required=True)
    reason = Prose(1, 2000, required=True)


class AppealsInSummary(Strict):
    """What the summary of the queue says of appeals."""

    appeals = fields.Boolean(required=True, metadata={"description": "Whether owners may appeal (APPEALS)."})
