"""The schemas of rules: a rule, its conditions, the facts they may ask for, and the preview."""

import json
import re
from typing import Any, ClassVar

from marshmallow import fields

from directory.api.schemas.projects import ReportedProject
from directory.extras.spam_rules.conditions import FACTS, MOST_CONDITIONS, OPERATORS
from directory.extras.spam_rules.editing import AT_ONCE
from directory.extras.spam_rules.preview import OUTCOMES
from directory.http.fields import DayOrTime, Few, Line, Number, Prose, Strict, Timestamp, Within, Word
from directory.language.messages import _
from directory.models import Effect, Judged, RuleState

JUDGED, EFFECTS, STATES = (tuple(word.value for word in words) for words in (Judged, Effect, RuleState))
COMPARISONS = tuple(dict.fromkeys(comparison for some in OPERATORS.values() for comparison in some))
OWN_FACT = re.compile(r"^field\.[a-z][a-z0-9_]*$", re.ASCII)
NAME_MAX, REASON_MAX, DAYS_MAX = 60, 1000, 365
VALUE = {
    "description": "A number, true or false, a text, or for `in` and `not in` a list of 1 to 1,000 texts, by the type "
    "of the fact. One of `words` is a word or up to five in a row, as search has them in every script. One of "
    "`email_domain` is a domain, `example.org`, or `*.example.org` and `*.org` for all that are below. Each value of a "
    "list that is none has an error of its own.",
    "oneOf": [
        {"type": "number"},
        {"type": "boolean"},
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}},
    ],
}


class Fact(Word):
    """The name of a fact, or of one of the operator's own fields."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(tuple(FACTS), **kwargs)
        others = {name: value for name, value in self.metadata.items() if name != "enum"}
        own = {"type": "string", "pattern": OWN_FACT.pattern}
        self.metadata = {**others, "anyOf": [{"type": "string", "enum": [*FACTS]}, own]}

    def check(self, value: str) -> str:
        """The name; `conditions.refusals` knows which own fields there are."""
        return value if OWN_FACT.fullmatch(value) else super().check(value)


class RuleCondition(Strict):
    """A condition about a fact."""

    class Meta:
        """The members, one of which has a name that Python does not take."""

        include: ClassVar[dict[str, Any]] = {
            "fact": Fact(required=True),
            "is": Word(COMPARISONS, required=True),
            "value": fields.Raw(required=True, metadata=VALUE),
        }


def _written(condition: Any) -> str:
    return json.dumps(condition, sort_keys=True)


def _condition_list(**kwargs: Any) -> Few:
    kwargs["metadata"] = {"description": "All have to hold."}
    return Few(fields.Nested(RuleCondition), 1, MOST_CONDITIONS, of="condition", key=_written, **kwargs)


def _judged(**kwargs: Any) -> Few:
    return Few(Word(JUDGED), 1, len(JUDGED), of="kind", **kwargs)


class RuleInput(Strict):
    """A rule. `reason` is for the submitter: a rule that rejects needs it, and no other has one."""

    name = Line(1, NAME_MAX, required=True)
    on = _judged(required=True)
    when = _condition_list(required=True)
    then = Word(EFFECTS, required=True)
    reason = Prose(1, REASON_MAX, allow_none=True)
    state = Word(STATES)


class RuleDays(Strict):
    """How many a rule matched on a day."""

    date = fields.Date(required=True)
    matched = fields.Integer(required=True, metadata={"minimum": 0})


class RuleOutput(Strict):
    """A rule. `days` are the last thirty, the oldest first: what it matched while it was dry or on."""

    id = fields.Integer(required=True)
    name = fields.String(required=True)
    on = fields.List(Word(JUDGED), required=True)
    when = _condition_list(required=True)
    then = Word(EFFECTS, required=True)
    reason = fields.String(required=True, allow_none=True)
    state = Word(STATES, required=True)
    changed_at = Timestamp(required=True)
    days = fields.List(fields.Nested(RuleDays), required=True)


class RuleList(Strict):
    """All rules, in the order in which they were made."""

    items = fields.List(fields.Nested(RuleOutput), required=True)


class RuleFact(Strict):
    """A fact, what may be asked of it, and what has it."""

    class Meta:
        """The members, one of which has a name that Python does not take."""

        include: ClassVar[dict[str, Any]] = {
            "fact": Fact(required=True),
            "type": Word(tuple(OPERATORS), required=True),
            "is": fields.List(Word(COMPARISONS), required=True),
            "on": fields.List(Word(JUDGED), required=True),
        }


class RuleFactList(Strict):
    """The facts that conditions may ask for."""

    items = fields.List(fields.Nested(RuleFact), required=True)


class RulePreviewInput(Strict):
    """A rule as it would be saved, and over how many days to try it."""

    rule = fields.Nested(RuleInput, required=True)
    days = Number(required=True, validate=Within(1, DAYS_MAX, error=_("Must be 1 to {most}.", most=DAYS_MAX)))


class RuleOutcomes(Strict):
    """How many of what matched were approved, rejected, still wait, or were live and are not now."""

    approved = fields.Integer(required=True)
    rejected = fields.Integer(required=True)
    waiting = fields.Integer(required=True)
    taken_down = fields.Integer(required=True)


def _examples() -> fields.List[Any]:
    return fields.List(fields.Nested(ReportedProject), required=True)


class RuleExamples(Strict):
    """Up to 20 projects of each outcome, the newest first. Registrations have none."""

    approved = _examples()
    rejected = _examples()
    waiting = _examples()
    taken_down = _examples()


def _count() -> fields.Integer:
    return fields.Integer(required=True, metadata={"minimum": 0})


class RulePreviewOutput(Strict):
    """What a rule would have matched. `unknown`: no facts are stored; it counts as no match."""

    class Meta:
        """The members, one of which has a name that a schema uses itself."""

        include: ClassVar[dict[str, Any]] = {
            "evaluated": _count(),
            "unknown": _count(),
            "matched": _count(),
            "by_outcome": fields.Nested(RuleOutcomes, required=True),
            "examples": fields.Nested(RuleExamples, required=True),
        }


class RevertInput(Strict):
    """Since when to put back what a rule held or rejected."""

    since = DayOrTime(required=True, metadata={"description": "A time, or the beginning of this day in UTC."})


class RevertOutput(Strict):
    """How many projects and revisions went back into the queue."""

    number = fields.Integer(required=True, metadata={"minimum": 0, "maximum": AT_ONCE})


assert OUTCOMES == tuple(RuleOutcomes().fields) == tuple(RuleExamples().fields)  # noqa: S101 (at import)
