"""The schemas of the review: the queue, and decisions."""

from typing import Any, ClassVar

from marshmallow import ValidationError, fields, validates, validates_schema

from directory.api.schemas.lists import SEARCH, Owner
from directory.api.schemas.paging import PageQuery, Pagination
from directory.api.schemas.projects import STATUSES, CategoryRef, ProjectDetail, ProjectOutput, UserRef
from directory.http.fields import (
    NO_ID,
    Few,
    Number,
    Prose,
    Search,
    Slug,
    Strict,
    Timestamp,
    Within,
    Word,
)
from directory.language.messages import _
from directory.models.base import HIGHEST_ID
from directory.services.catalog.additions import BY_RULE, OWNER_SUSPENDED, WARNINGS
from directory.services.catalog.filters import KINDS
from directory.services.catalog.orders import SORTS
from directory.services.review.steps import Act
from directory.services.text.rules import CATEGORY_SLUG_MAX


class QueueQuery(PageQuery):
    """The reviewers' list of projects."""

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
    kind = Word(
        tuple(KINDS),
        metadata={"description": "Only pending projects, or only live projects with waiting changes."},
    )
    first_time = Word(
        ("true",),
        metadata={
            "description": "Only pending projects of owners who have no live and no rejected project, and of whose "
            "pending projects none was decided before, as far as the log goes back."
        },
    )
    waiting_for = Word(
        ("review", "owner", "appeal"),
        metadata={
            "description": "Projects that wait, or whose changes wait, for the reviewers (as with waiting=true) or for "
            "their owners: those that were taken down, or of which changes were asked for; or about which an appeal is "
            "open."
        },
    )
    held = Word(
        ("true",),
        metadata={"description": "Only what rules hold out of the queue; `oldest` is the default order."},
    )
    answered = Word(
        ("true",),
        metadata={"description": "Only projects, in every state, whose owners wrote the last entry in their threads."},
    )
    sort = Word(
        tuple(SORTS),
        metadata={"description": "Default newest; in a list of pending projects or of the queue oldest."},
    )


class OwnerStats(Strict):
    """How many projects a user has in each state."""

    live = fields.Integer(required=True, metadata={"minimum": 0})
    pending = fields.Integer(required=True, metadata={"minimum": 0})
    rejected = fields.Integer(required=True, metadata={"minimum": 0})


class NamedProject(Strict):
    """A project by id and title."""

    id = fields.Integer(required=True)
    title = fields.String(required=True)


class Resembles(Strict):
    """For a warning that is about another project, the first one that the caller may see; else null."""

    lookalike_title = fields.Nested(
        NamedProject,
        required=True,
        allow_none=True,
        metadata={"description": "A live project of the same title, but for the letters that look like Latin ones."},
    )
    same_repository = fields.Nested(NamedProject, required=True, allow_none=True)


class Background(Strict):
    """What a reviewer should know of the owner of a project and of other projects."""

    owner_stats = fields.Nested(OwnerStats, required=True)
    earlier = fields.Integer(
        required=True,
        metadata={"minimum": 0, "description": "How many other submissions of the same URL exist, in whatever state."},
    )
    answered = fields.Boolean(
        required=True,
        metadata={"description": "Whether the owner wrote the last entry in its thread, notes aside."},
    )
    warnings = fields.List(
        fields.String(metadata={"pattern": f"^({'|'.join(WARNINGS)}|{BY_RULE}.*)$"}),
        required=True,
        metadata={
            "description": "What a reviewer should look at. `lookalike_title`: the title has letters that look like "
            "Latin ones and are of another script, in one word with Latin letters or as all its letters of that "
            "script. `same_repository`: another project of any state has its repository or website as its own "
            "repository, or its repository as its own website. `owner_suspended`: the owner's account is suspended or "
            "deleted. `link_gone`, `link_unreachable`: the website or the repository was so when it was last "
            "looked at. `repository_archived`: the forge of the repository says so. `rule:` and a name: a rule of the "
            "administrators has matched what waits."
        },
    )

    resembles = fields.Nested(Resembles, required=True)


class GivenApproval(Strict):
    """Who has approved the version, and when."""

    user = fields.Nested(UserRef, required=True)
    at = Timestamp(required=True)


class Approvals(Strict):
    """How many people have to approve, and those who have approved this version, in their order."""

    required = fields.Integer(required=True, metadata={"minimum": 2, "maximum": 3})
    given = fields.List(fields.Nested(GivenApproval), required=True)


class Approved(Strict):
    """Who has approved a project that needs several approvals."""

    approvals = fields.Nested(
        Approvals,
        required=True,
        allow_none=True,
        metadata={"description": "Null if one is enough or nothing waits."},
    )


class ReviewedProject(ProjectDetail, Approved):
    """A project as a decision has left it."""


class QueueItem(ProjectOutput, Background, Approved):
    """A project as reviewers see it in a list, with the numbers of its owner's submissions."""

    description_html = fields.String(
        dump_only=True,
        metadata={"description": "The description as the pages show it, for the owner and reviewers."},
    )


class ReviewDetail(ReviewedProject, Background):
    """A project as reviewers see it, with the numbers of its owner's submissions."""


class QueueSummary(Strict):
    """How much waits for review in the categories of the reviewer."""

    queue_length = fields.Integer(
        required=True, metadata={"minimum": 0, "description": "Pending projects and changes of live ones that wait."}
    )
    oldest_submitted_at = Timestamp(
        required=True, allow_none=True, metadata={"description": "Since when the first of the queue waits."}
    )

    messages = fields.Integer(
        required=True,
        metadata={"minimum": 0, "description": "How many projects have owners who wrote last, as with answered=true."},
    )
    held = fields.Integer(required=True, metadata={"minimum": 0, "description": "How many there are with held=true."})
    waiting_for_owner = fields.Integer(
        required=True, metadata={"minimum": 0, "description": "How many there are with waiting_for=owner."}
    )
    waiting_for_appeal = fields.Integer(
        required=True, metadata={"minimum": 0, "description": "How many there are with waiting_for=appeal."}
    )
    too_few_reviewers = fields.List(
        fields.Nested(CategoryRef),
        required=True,
        metadata={"description": "The caller's categories that fewer people may review than have to approve."},
    )


class QueuePage(Strict):
    """A page of projects, for reviewers."""

    items = fields.List(fields.Nested(QueueItem), required=True)
    pagination = fields.Nested(Pagination, required=True)


class ReasonInput(Strict):
    """An optional reason."""

    reason = Prose(0, 1000, allow_none=True)


class ChangesInput(Strict):
    """What is missing in a submission."""

    message = Prose(1, 2000, required=True)


class DecisionItem(Strict):
    """A project and, if the decision is about no other, the version of it that was reviewed."""

    id = Number(required=True, validate=Within(1, HIGHEST_ID, error=NO_ID))
    version = Number(validate=Within(1, HIGHEST_ID, error=_("A version is a positive whole number.")))


class DecisionsInput(Strict):
    """One decision about many projects: `items`, or `ids` for whichever versions there are."""

    rules: ClassVar[dict[str, Any]] = {
        "oneOf": [{"required": ["items"]}, {"required": ["ids"]}],
        "if": {"properties": {"decision": {"const": Act.REQUEST.value}}, "required": ["decision"]},
        "then": {"required": ["message"], "properties": {"reason": False}},
        "else": {"properties": {"message": False}},
    }

    decision = Word(("approve", "reject", "unpublish", Act.REQUEST, "delete"), required=True)
    items = Few(fields.Nested(DecisionItem), 1, 100, of="project", key=lambda item: item["id"])
    ids = Few(Number(metadata={"minimum": 1, "maximum": HIGHEST_ID}), 1, 100, of="id")
    reason = Prose(0, 1000, allow_none=True)
    message = Prose(1, 2000, metadata={"description": "For the owners; with `request_changes`, which needs it."})

    def wanted(self, body: dict[str, Any]) -> dict[int, int | None]:
        """The ids of a checked body in its order, each with its version, None for any."""
        if "ids" in body:
            return dict.fromkeys(body["ids"])
        return {item["id"]: item.get("version") for item in body["items"]}

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _one_list(self, _data: object, body: dict[str, Any], **_kwargs: object) -> None:
        if ("ids" in body) == ("items" in body):
            raise ValidationError(_("Give either items or ids."), "items")

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _one_text(self, _data: object, body: dict[str, Any], **_kwargs: object) -> None:
        asks = body.get("decision") == Act.REQUEST
        if asks and "message" not in body:
            raise ValidationError(_("Missing data for required field."), "message")
        if asks and "reason" in body:
            raise ValidationError(_("A request for changes has a message, and no reason."), "reason")
        if not asks and "message" in body:
            raise ValidationError(_("Only a request for changes has a message."), "message")

    @validates("ids")
    def _possible(self, ids: list[int], **_kwargs: object) -> None:
        if not all(1 <= one <= HIGHEST_ID for one in ids):
            raise ValidationError(NO_ID)


class ReviewDecisionsInput(DecisionsInput):
    """One decision about many projects: `items`, or `ids` for whichever versions there are."""

    decision = Word(("approve", "reject", "unpublish", Act.REQUEST), required=True)


class Decision(Strict):
    """The outcome for one project of several."""

    id = fields.Integer(required=True)
    status = fields.Integer(
        required=True,
        metadata={"description": "200, 404, 409 or 412; 202 if the approval is kept and more are required."},
    )
    code = fields.String(metadata={"description": "The code of the refusal; absent with 200 and 202."})
    project = fields.Nested(
        ReviewedProject,
        metadata={"description": "The project as it is now: with 200, unless it is deleted, with 202 and with 412."},
    )
    warnings = fields.List(
        Word((OWNER_SUSPENDED,)),
        metadata={"description": "Present with `owner_suspended` if the owner of the project is suspended."},
    )


class DecisionList(Strict):
    """The outcomes, in the order of the projects given."""

    items = fields.List(fields.Nested(Decision), required=True)
