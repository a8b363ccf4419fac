"""The schemas of reports: what is reported, the reviewers' list, and how it is settled."""

from marshmallow import fields

from directory.api.schemas.paging import CursorPagination, CursorQuery
from directory.api.schemas.projects import ReportedProject, UserRef
from directory.extras.reports.reports import REPORTS_MAX, STATES, TEXTS_MAX
from directory.http.fields import Prose, Strict, Timestamp, Whole, Word
from directory.models import ReportKind, ReportOutcome

KINDS, OUTCOMES = tuple(kind.value for kind in ReportKind), tuple(outcome.value for outcome in ReportOutcome)
TEXT_MAX = 1000


class ReportInput(Strict):
    """What is wrong with a project, and optionally why."""

    kind = Word(KINDS, required=True)
    text = Prose(0, TEXT_MAX, allow_none=True)


class ReportsQuery(CursorQuery):
    """Which reports."""

    limit = Whole(1, 100, load_default=100, metadata={"default": 100})
    state = Word(STATES, load_default="open", metadata={"default": "open"})
    kind = Word(KINDS, metadata={"description": "Only reports of this kind are listed and counted."})


class ReportText(Strict):
    """The text of a report. Administrators also see who wrote it; it is null for an anonymous caller."""

    text = fields.String(required=True)
    kind = Word(KINDS, required=True)
    at = Timestamp(required=True)
    reporter = fields.Nested(UserRef, allow_none=True)


class ReportMade(Strict):
    """A report, with or without a text, and who has made it; null for an anonymous caller."""

    kind = Word(KINDS, required=True)
    at = Timestamp(required=True)
    reporter = fields.Nested(UserRef, required=True, allow_none=True)


class ReportGroup(Strict):
    """The reports about a project. Settled ones have the outcome and the reply of the last settlement."""

    project = fields.Nested(ReportedProject, required=True)
    number = fields.Integer(required=True, metadata={"minimum": 1})
    kinds = fields.Dict(
        fields.String(),
        fields.Integer(metadata={"minimum": 1}),
        required=True,
        metadata={"description": "How many reports there are of each kind of which there are any."},
    )
    first_at = Timestamp(required=True)
    texts = fields.List(
        fields.Nested(ReportText),
        required=True,
        metadata={"description": f"The newest {TEXTS_MAX} reports that have a text, the newest first."},
    )
    reports = fields.List(
        fields.Nested(ReportMade),
        metadata={"description": f"For administrators alone: the newest {REPORTS_MAX} reports, the newest first."},
    )
    outcome = Word(OUTCOMES)
    reply = fields.String(allow_none=True)
    settled_at = Timestamp()


class ReportPage(Strict):
    """Reports by project: open ones with the oldest first, settled ones with the last settled first."""

    items = fields.List(fields.Nested(ReportGroup), required=True)
    pagination = fields.Nested(CursorPagination, required=True)


class SettlementInput(Strict):
    """How the reports about a project are settled, and what the reporters are told."""

    outcome = Word(OUTCOMES, required=True)
    reply = Prose(0, TEXT_MAX, allow_none=True)


class ReportsInSummary(Strict):
    """What the summary of the queue has of reports."""

    reports = fields.Integer(
        required=True,
        allow_none=True,
        metadata={"minimum": 0, "description": "How many projects have open reports; null while reports are off."},
    )
