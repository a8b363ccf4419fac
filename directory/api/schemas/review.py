"""The review: the queue, decisions, and what has happened to a project."""

from typing import Any, ClassVar

from marshmallow import ValidationError, fields, validates, validates_schema
from marshmallow.validate import Range

from directory.api.schemas.paging import CursorPagination, CursorQuery, PageQuery, Pagination
from directory.api.schemas.projects import SEARCH, STATUSES, Owner, ProjectDetail, ProjectOutput
from directory.http.fields import Few, Prose, Search, Slug, Strict, Timestamp, Whole, Word
from directory.models.base import HIGHEST_ID
from directory.services.audit import EVENTS
from directory.services.catalog.additions import WARNINGS
from directory.services.text import CATEGORY_SLUG_MAX


class QueueQuery(PageQuery):
    """The administrators' list of projects."""

    status = Word(STATUSES)
    category = Slug(CATEGORY_SLUG_MAX)
    owner = Owner()
    q = Search(200, metadata={"description": SEARCH})
    waiting = Word(
        ("true",),
        metadata={
            "description": "Only pending projects, and live projects with waiting changes. `oldest` then orders by the "
            "`submitted_at` of the project or of the changes."
        },
    )
    sort = Word(
        ("newest", "popular", "upvotes", "oldest"),
        metadata={"description": "Default newest; with waiting=true or status=pending oldest, the queue's order."},
    )


class OwnerStats(Strict):
    """How many projects a user has in each state."""

    live = fields.Integer(required=True, metadata={"minimum": 0})
    pending = fields.Integer(required=True, metadata={"minimum": 0})
    rejected = fields.Integer(required=True, metadata={"minimum": 0})


class QueueItem(ProjectOutput):
    """A project as administrators see it in a list, with the numbers of its owner's submissions."""

    description_html = fields.String(
        dump_only=True,
        metadata={"description": "The description as the pages show it, for the owner and administrators."},
    )
    owner_stats = fields.Nested(OwnerStats, required=True)
    earlier = fields.Integer(
        required=True,
        metadata={"minimum": 0, "description": "How many other submissions of the same URL exist, in whatever state."},
    )
    warnings = fields.List(
        Word(WARNINGS),
        required=True,
        metadata={
            "description": "What a reviewer should look at. `lookalike_title`: the title has letters that look like "
            "Latin ones and are of another script, in one word with Latin letters or as all its letters of that script."
        },
    )


class QueuePage(Strict):
    """A page of projects, for administrators."""

    items = fields.List(fields.Nested(QueueItem), required=True)
    pagination = fields.Nested(Pagination, required=True)


class ReasonInput(Strict):
    """An optional reason."""

    reason = Prose(0, 1000, allow_none=True)


class Number(fields.Integer):
    """A whole number of a body. 7.0 is one: JSON has a single type of numbers."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strict=True, **kwargs)

    def _validated(self, value: Any) -> int:
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        return super()._validated(whole)


class DecisionItem(Strict):
    """A project and, if the decision is about no other, the version of it that was reviewed."""

    id = Number(required=True, validate=Range(1, HIGHEST_ID, error="An id is a positive whole number."))
    version = Number(validate=Range(1, HIGHEST_ID, error="A version is a positive whole number."))


class DecisionsInput(Strict):
    """One decision about many projects: `items`, or `ids` for whichever versions there are."""

    rules: ClassVar[dict[str, Any]] = {"oneOf": [{"required": ["items"]}, {"required": ["ids"]}]}

    decision = Word(("approve", "reject", "unpublish", "delete"), required=True)
    items = Few(fields.Nested(DecisionItem), 1, 100, of="project", key=lambda item: item["id"])
    ids = Few(Number(metadata={"minimum": 1, "maximum": HIGHEST_ID}), 1, 100, of="id")
    reason = Prose(0, 1000, allow_none=True)

    def wanted(self, body: dict[str, Any]) -> dict[int, int | None]:
        """The ids of a checked body in its order, each with its version, None for any."""
        if "ids" in body:
            return dict.fromkeys(body["ids"])
        return {item["id"]: item.get("version") for item in body["items"]}

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _one_list(self, _data: object, given: dict[str, Any], **_kwargs: object) -> None:
        if ("ids" in given) == ("items" in given):
            raise ValidationError("Give either items or ids.", "items")

    @validates("ids")
    def _possible(self, ids: list[int], **_kwargs: object) -> None:
        if not all(1 <= one <= HIGHEST_ID for one in ids):
            raise ValidationError("An id is a positive whole number.")


class Decision(Strict):
    """The outcome for one project of several."""

    id = fields.Integer(required=True)
    status = fields.Integer(required=True, metadata={"description": "200, 404, 409 or 412."})
    code = fields.String(metadata={"description": "The code of the refusal; absent with 200."})
    project = fields.Nested(
        ProjectDetail,
        metadata={"description": "The project as it is now: with 200, unless it is deleted, and with 412."},
    )


class DecisionList(Strict):
    """The outcomes, in the order of the projects given."""

    items = fields.List(fields.Nested(Decision), required=True)


class HistoryQuery(CursorQuery):
    """A project's history or timeline; a hundred entries unless asked otherwise."""

    limit = Whole(1, 100, load_default=100, metadata={"default": 100})


class TimelineEvent(Strict):
    """An event of a project."""

    at = Timestamp(required=True)
    event = Word(tuple(dict.fromkeys(EVENTS.values())), required=True)
    reason = fields.String(metadata={"description": "The reason of a rejection or unpublishing, if one was given."})


class TimelinePage(Strict):
    """The events of a project, oldest first. It does not name the reviewers."""

    items = fields.List(fields.Nested(TimelineEvent), required=True)
    pagination = fields.Nested(CursorPagination, required=True)
