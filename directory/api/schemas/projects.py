"""The schemas of a project: the fields that callers send and get, and the check before a submission."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from marshmallow import ValidationError, fields, validates_schema

from directory.http.fields import (
    Day,
    Decimals,
    Few,
    Flag,
    Line,
    Link,
    OptionalLine,
    Prose,
    RenderedMarkdown,
    Repository,
    Slug,
    Strict,
    Timestamp,
    Word,
    document,
)
from directory.language.messages import _
from directory.models import Asked, LinkState, Status
from directory.services.catalog import own_fields
from directory.services.catalog.fields import BODY, FIELDS, OWNED, Field, Kind
from directory.services.catalog.own_fields import OwnField
from directory.services.pictures.pictures import WIDE
from directory.services.text.rules import CATEGORY_SLUG_MAX, TAG_MAX
from directory.services.text.rules import USERNAME as USERNAMES

AnyField = fields.Field[Any]

STATUSES = tuple(Status)
NEITHER = _("Give url, title or repository_url.")
USERNAME = USERNAMES.pattern
CHOICES_MAX = 10
NO_CHOICE = _("This is not one of the choices.")
ONE_CHOICE = _("Give the value of a choice.")
SOME_CHOICES = _("Give a list of one to {number} values of choices.", number=CHOICES_MAX)
OWN_VALUE = {"type": ["string", "number", "boolean", "array", "null"], "items": {"type": "string"}}


def _facts(field: Field) -> dict[str, Any]:
    """What the document says of a field in addition to its type."""
    least = field.limits[0] if field.limits and field.kind is Kind.INTEGER else None
    metadata = {"minimum": least, "description": field.description or None}
    return {"metadata": {name: value for name, value in metadata.items() if value is not None}}


def _line(least: int, most: int, *, allow_none: bool = False, **facts: Any) -> Line:
    return OptionalLine(most, **facts) if allow_none else Line(least, most, **facts)


# How a field is read from a body; `limits` are those of the table.
TAKEN: dict[Kind, Callable[..., AnyField]] = {
    Kind.LINE: lambda limits, **facts: _line(*limits, **facts),
    Kind.PROSE: lambda limits, **facts: Prose(*limits, **facts),
    Kind.LINK: lambda limits, **facts: Link(**facts),
    Kind.REPOSITORY: lambda limits, **facts: Repository(**facts),
    Kind.TAGS: lambda limits, **facts: Few(Slug(TAG_MAX), *limits, of="tag", **facts),
    Kind.CATEGORY: lambda limits, **facts: Slug(CATEGORY_SLUG_MAX, **facts),
    Kind.OWN: lambda _limits, **facts: OwnValues(**facts),
    Kind.NUMBER: lambda _limits, **facts: Decimals(**facts),
    Kind.DATE: lambda _limits, **facts: Day(**facts),
    Kind.TRUTH: lambda _limits, **facts: Flag(**facts),
}


class OwnValues(fields.Field[Any]):
    """Values of the operator's own fields by name; null, or a list without choices, clears one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        document(self, type="object", additionalProperties=OWN_VALUE)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        if not isinstance(value, dict):
            raise ValidationError(_("Not a valid mapping type."))
        defined = own_fields.present() if value else own_fields.NONE
        values, faults = dict[str, Any](), dict[str, list[str]]()
        for name, entry in value.items():
            try:
                values[name] = None if entry in (None, []) else _value_of(defined.get(name), entry)
            except ValidationError as error:
                said = error.messages
                faults[name] = said if isinstance(said, list) else [str(said)]
        if faults:
            raise ValidationError(faults, valid_data=values)
        return values


def _value_of(field: OwnField | None, value: Any) -> Any:
    """A valid value of an own field. Raises ValidationError."""
    if field is None:
        raise ValidationError(_("Unknown field."))
    if field.kind not in {Kind.CHOICE, Kind.CHOICES}:
        return TAKEN[field.kind](field.limits).deserialize(value)
    is_one = field.kind is Kind.CHOICE
    if not (isinstance(value, str) if is_one else isinstance(value, list) and all(isinstance(e, str) for e in value)):
        raise ValidationError(ONE_CHOICE if is_one else SOME_CHOICES)
    chosen = {value} if is_one else {*value}
    if not chosen <= field.choices.keys():
        raise ValidationError(NO_CHOICE)
    if len(chosen) > CHOICES_MAX:
        raise ValidationError(SOME_CHOICES)
    return value if is_one else [choice for choice in field.choices if choice in chosen]


def _taken(field: Field) -> AnyField:
    facts = {"required": field.is_required, **({"allow_none": True} if field.is_nullable else {})}
    return TAKEN[field.kind](field.limits, **facts, **_facts(field))


class ProjectInput(Strict):
    """A submission; for a change every field is optional."""

    class Meta:
        include: ClassVar = {field.name: _taken(field) for field in BODY}


class ProjectChanges(ProjectInput):
    """A change of a project: any of its fields."""

    give_back = Flag(
        metadata={
            "description": "False leaves what waits for its owner there, so that more can follow; true by default."
        }
    )


class LogoOutput(Strict):
    """The addresses of a logo's pictures, WebP of 64 and 256 pixels a side. The picture at an address never changes."""

    small = fields.String(required=True, data_key="64", attribute="64")
    large = fields.String(required=True, data_key="256", attribute="256")


class PictureOutput(Strict):
    """A picture, in WebP of at most 640 and of at most 1,280 pixels a side; `width` and `height` are of the larger one.

    What is at an address never changes.
    """

    id = fields.Integer(required=True, metadata={"minimum": 1})
    alt = fields.String(required=True, metadata={"description": "What it shows, in words."})
    small = fields.String(required=True, data_key="640", attribute="640")
    large = fields.String(required=True, data_key="1280", attribute="1280")
    width = fields.Integer(required=True, metadata={"minimum": 1, "maximum": WIDE})
    height = fields.Integer(required=True, metadata={"minimum": 1, "maximum": WIDE})


class PickOutput(Strict):
    """A pick of the reviewers."""

    at = Timestamp(required=True)
    words = fields.String(required=True, metadata={"description": "Why: one line of plain text."})


class CategoryRef(Strict):
    """A project's category."""

    slug = fields.String(required=True)
    name = fields.String(required=True)


class UserRef(Strict):
    """A user by id and name."""

    id = fields.Integer(required=True)
    username = fields.String(required=True)


# How a field is written into an answer.
GIVEN: dict[Kind, Callable[..., AnyField]] = {
    **dict.fromkeys((Kind.REASON, Kind.LINE, Kind.PROSE, Kind.LINK, Kind.REPOSITORY, Kind.SLUG), fields.String),
    Kind.INTEGER: fields.Integer,
    Kind.FLAG: fields.Boolean,
    Kind.TIME: Timestamp,
    Kind.TAGS: lambda **facts: fields.List(fields.String(), **facts),
    Kind.CATEGORY: lambda **facts: fields.Nested(CategoryRef, **facts),
    Kind.STATUS: lambda **facts: Word(STATUSES, **facts),
    Kind.OWNER: lambda **facts: fields.Nested(UserRef, **facts),
    Kind.LOGO: lambda **facts: fields.Nested(LogoOutput, **facts),
    Kind.PICTURES: lambda **facts: fields.List(fields.Nested(PictureOutput), **facts),
    Kind.OWN: lambda **facts: fields.Dict(keys=fields.String(), values=fields.Raw(metadata=OWN_VALUE), **facts),
    Kind.PICK: lambda **facts: fields.Nested(PickOutput, **facts),
    Kind.REVISION: lambda **facts: fields.Nested(RevisionOutput, **facts),
    Kind.REVIEW: lambda **facts: fields.Nested(WaitsOutput, **facts),
    Kind.FACTS: lambda **facts: fields.Nested(RepositoryOutput, **facts),
    Kind.LINKS: lambda **facts: fields.Nested(LinksOutput, **facts),
}


def _changed(field: Field) -> AnyField:
    """A field of a revision, which holds a category by its slug."""
    facts = {"allow_none": True} if field.is_nullable else {}
    if field.kind is Kind.CATEGORY:
        return fields.String(metadata={"description": "A category's slug."})
    return GIVEN[field.kind](**facts)


def _given(field: Field) -> AnyField:
    facts = {"allow_none": True} if field.is_nullable else {}
    facts |= {} if field.is_private else {"required": True}
    return GIVEN[field.kind](**facts, **({} if field in BODY else {"dump_only": True, **_facts(field)}))


class ReportedProject(Strict):
    """A project, as far as a list about it needs."""

    id = fields.Integer(required=True)
    slug = fields.String(required=True)
    title = fields.String(required=True)
    tagline = fields.String(required=True)
    url = fields.String(required=True)
    status = Word(STATUSES, required=True)
    version = fields.Integer(required=True)
    category = fields.Nested(CategoryRef, required=True)
    owner = fields.Nested(UserRef, required=True)


class RevisionChanges(Strict):
    """The new values of those fields whose changes wait for review."""

    class Meta:
        include: ClassVar = {field.name: _changed(field) for field in OWNED}


def _stored_time(**facts: Any) -> fields.String:
    """A time that is stored as answers write it."""
    return fields.String(required=True, metadata={"format": "date-time"}, **facts)


class LinkOutput(Strict):
    """What was seen of a link: `since` when it is in this state, and the status of the last answer, null without one.

    It is `dead` if it was gone or unreachable in three looks in a row, over several days. `final_url` is where a link
    leads that has `moved`, and null otherwise.
    """

    state = Word(tuple(LinkState), required=True)
    status = fields.Integer(required=True, allow_none=True)
    since = _stored_time()
    checked_at = _stored_time()
    final_url = fields.String(required=True, allow_none=True)
    dead = fields.Boolean(required=True)


class LinksOutput(Strict):
    """What was seen of the website and the repository; null for one that was not looked at yet."""

    url = fields.Nested(LinkOutput, required=True, allow_none=True)
    repository_url = fields.Nested(LinkOutput, required=True, allow_none=True)


class RepositoryOutput(Strict):
    """What the forge of a repository says of it; null where it does not."""

    license = fields.String(required=True, allow_none=True, metadata={"description": "By its SPDX identifier."})
    stars = fields.Integer(required=True, allow_none=True, metadata={"minimum": 0})
    archived = fields.Boolean(required=True, allow_none=True)
    fork = fields.Boolean(required=True, allow_none=True)
    language = fields.String(required=True, allow_none=True)
    created_at = _stored_time(allow_none=True)
    pushed_at = _stored_time(allow_none=True)
    checked_at = _stored_time()


class RevisionOutput(Strict):
    """Changes of a live project that wait for review, or the note that the last ones were rejected.

    After a rejection `changes` is empty, `submitted_at` null, `reason` that of the rejection, and `rejected` has what
    was written, until the next edit or withdrawal.
    """

    changes = fields.Nested(RevisionChanges, required=True)
    submitted_at = Timestamp(
        required=True, allow_none=True, metadata={"description": "When the first of the changes was submitted."}
    )
    reason = fields.String(required=True, allow_none=True)
    rejected = fields.Nested(
        RevisionChanges, metadata={"description": "The values that were rejected; absent while changes wait."}
    )
    links = fields.Nested(
        LinksOutput,
        allow_none=True,
        metadata={
            "description": "What the service saw of the new links. Absent after a rejection or without LINK_CHECKS."
        },
    )


class WaitsOutput(Strict):
    """What a project, or changes of it, wait for: the reviewers, the owner, or the outcome of an appeal."""

    waiting_for = Word(("review", "owner", "appeal"), required=True)
    since = Timestamp(required=True)
    closes_at = Timestamp(
        required=True,
        allow_none=True,
        metadata={"description": "When it is rejected if the owner does not answer; null if never."},
    )
    held = fields.Boolean(
        required=True,
        metadata={"description": "Whether a rule holds it out of the queue, for 14 days at most, for a closer look."},
    )
    asked = Word(
        tuple(Asked),
        required=True,
        allow_none=True,
        metadata={"description": "How it came to wait for its owner; null if it does not."},
    )


class ProjectOutput(Strict):
    """A project. Its owner and administrators also see `rejection_reason` and `revision`.

    The first is the reason of the last rejection or unpublishing; an approval, or an edit that sends the project back
    to review, makes it null. The second has changes of a live project that wait for review, null without any.
    """

    class Meta:
        include: ClassVar = {field.name: _given(field) for field in FIELDS}


class ProjectDetail(ProjectOutput):
    """A project. `queue_position` is null unless it is pending, or changes of it wait for review.

    It is present for the owner and administrators if they request one project, and in lists with `owner=me`.
    """

    queue_position = fields.Integer(allow_none=True, dump_only=True, metadata={"minimum": 1})
    description_html = RenderedMarkdown(
        dump_only=True,
        metadata={"description": "The description as the pages show it, for the owner and administrators."},
    )


class CheckQuery(Strict):
    """The URL of a planned submission, its title or its repository, or several of them."""

    url = Link(metadata={"description": "It, `title` or `repository_url` is given."})
    title = Line(1, 100)
    repository_url = Repository()

    @validates_schema(pass_original=True)
    def _something(self, _data: Any, body: dict[str, Any], **_kwargs: object) -> None:
        if not self.fields.keys() & body.keys():
            raise ValidationError(NEITHER, "url")


class KnownProject(Strict):
    """A project that is here already."""

    id = fields.Integer(required=True)
    slug = fields.String(required=True)
    title = fields.String(required=True)
    tagline = fields.String(required=True)
    status = Word(STATUSES, required=True)
    upvotes = fields.Integer(required=True, metadata={"minimum": 0})
    has_upvoted = fields.Boolean(required=True, metadata={"description": "Whether the caller has voted for it."})
    created_at = Timestamp(metadata={"description": "When it was submitted; the caller's own alone have it."})


class CheckOutput(Strict):
    """Projects of the same URL, and others with a similar title; the caller's own first."""

    same = fields.List(
        fields.Nested(KnownProject),
        required=True,
        metadata={"description": "Live ones, the 20 with the most votes, and the caller's own in any state."},
    )
    similar = fields.List(
        fields.Nested(KnownProject), required=True, metadata={"description": "Live ones, the five most similar."}
    )
    same_repository = fields.List(
        fields.Nested(KnownProject),
        metadata={
            "description": "Others, live or the caller's own, that share a repository with it: theirs is its website "
            "or repository, or their website is its repository. Absent if there are none."
        },
    )


class VoteOutput(Strict):
    """The vote as it is now, and the project's count."""

    project_id = fields.Integer(required=True)
    upvoted = fields.Boolean(required=True)
    upvotes = fields.Integer(required=True, metadata={"minimum": 0})
