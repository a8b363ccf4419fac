"""The dashboard: its parameters and its figures."""

from marshmallow import fields

from directory.http.fields import Strict, Timestamp, Whole


class AnalyticsQuery(Strict):
    """How many UTC days back, today included."""

    days = Whole(1, 365, load_default=30, metadata={"default": 30})


class ProjectCounts(Strict):
    """Projects by state."""

    live = fields.Integer(required=True)
    pending = fields.Integer(required=True)
    rejected = fields.Integer(required=True)
    total = fields.Integer(required=True)


class UserCounts(Strict):
    """Users by status."""

    active = fields.Integer(required=True)
    suspended = fields.Integer(required=True)
    total = fields.Integer(required=True)


class Totals(Strict):
    """The present numbers of projects, users and votes."""

    projects = fields.Nested(ProjectCounts, required=True)
    users = fields.Nested(UserCounts, required=True)
    upvotes = fields.Integer(required=True)


class AppealCounts(Strict):
    """The open appeals, and the outcomes of the days asked for."""

    open = fields.Integer(required=True)
    upheld = fields.Integer(required=True)
    reversed = fields.Integer(required=True)


class Review(Strict):
    """How the review goes, of submissions and of changes of live projects.

    Median and rate are over the days asked for, null without a decision.
    """

    queue_length = fields.Integer(required=True)
    waiting_for_owner = fields.Integer(
        required=True, metadata={"description": "Projects that wait, or whose changes wait, for their owners."}
    )
    appeals = fields.Nested(AppealCounts, required=True)
    oldest_submitted_at = Timestamp(required=True, allow_none=True)
    median_seconds_to_decision = fields.Float(required=True, allow_none=True)
    approval_rate = fields.Float(required=True, allow_none=True)


class Happened(Strict):
    """The numbers of events in a period, without the changes of live projects.

    An imported project counts in `imported` alone, whatever its state.
    """

    submissions = fields.Integer(required=True)
    imported = fields.Integer(required=True)
    approvals = fields.Integer(required=True)
    rejections = fields.Integer(required=True)
    upvotes = fields.Integer(required=True)
    signups = fields.Integer(required=True)


class Day(Happened):
    """The numbers of events on one UTC day."""

    date = fields.Date(required=True)


class Reviewer(Strict):
    """The decisions of one administrator in the period, and the median time from submission to decision."""

    id = fields.Integer(required=True)
    username = fields.String(required=True)
    approved = fields.Integer(required=True)
    rejected = fields.Integer(required=True)
    median_seconds = fields.Float(required=True, allow_none=True)


class TopProject(Strict):
    """One of the live projects with the most votes."""

    id = fields.Integer(required=True)
    slug = fields.String(required=True)
    title = fields.String(required=True)
    upvotes = fields.Integer(required=True)


class TopCategory(Strict):
    """One of the categories with the most live projects."""

    slug = fields.String(required=True)
    name = fields.String(required=True)
    live_projects = fields.Integer(required=True)


class Analytics(Strict):
    """The dashboard."""

    generated_at = Timestamp(required=True)
    totals = fields.Nested(Totals, required=True)
    review = fields.Nested(Review, required=True)
    series = fields.List(fields.Nested(Day), required=True)
    previous = fields.Nested(
        Happened, required=True, metadata={"description": "The totals of as many days before those of `series`."}
    )
    reviewers = fields.List(fields.Nested(Reviewer), required=True, metadata={"description": "Most decisions first."})
    top_projects = fields.List(fields.Nested(TopProject), required=True)
    top_categories = fields.List(fields.Nested(TopCategory), required=True)
