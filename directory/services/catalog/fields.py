"""The table of a project's fields, and the conversion of the owner's input to columns."""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import Any

from sqlalchemy import select

from directory.errors import Invalid
from directory.extensions import db
from directory.language.messages import _
from directory.models import Category, Project
from directory.services.catalog import category_slugs
from directory.services.text import markdown
from directory.services.text.equal_addresses import repository_key, url_key
from directory.services.text.keys import domain_of, text_key
from directory.services.text.rules import slugify

NO_CATEGORY = _("There is no such category.")

Changes = dict[str, dict[str, Any]]  # for each field an object with `from` and `to`


class Kind(Enum):
    """The type of a field's value."""

    INTEGER, FLAG, TIME, REASON, LINE, PROSE, LINK, REPOSITORY, SLUG, TAGS = range(10)
    CATEGORY, STATUS, OWNER, LOGO, PICTURES, REVISION, REVIEW, PICK, FACTS, LINKS = range(10, 20)
    OWN, NUMBER, DATE, TRUTH, CHOICE, CHOICES = range(20, 26)


class Writer(Enum):
    """The writer of a field.

    OWNER: the body of a submission or edit. UPLOAD: the routes for logos and pictures. IMPORT: the service, or a row of
    `flask import`. SERVICE: the service alone.
    """

    OWNER, UPLOAD, IMPORT, SERVICE = range(4)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a project.

    The log's `changes` contain the fields that the owner writes. In a live project a change of an `is_material` field
    waits for review. Search reads the `is_searched` fields. `limits` are for the number of characters or tags, or for
    the value. Only owners and administrators see `is_private` fields. `label` is the name in the pages.
    """

    name: str
    kind: Kind
    example: Any
    _: KW_ONLY
    limits: tuple[int, int | None] | None = None
    writer: Writer = Writer.SERVICE
    is_required: bool = False
    is_nullable: bool = False
    is_material: bool = False
    is_searched: bool = False
    is_private: bool = False
    in_webhook: bool = True
    in_export: bool = True
    description: str = ""
    label: str = ""

    @property
    def empty(self) -> Any:
        """The value of a field that a submission leaves out."""
        if self.is_nullable:
            return None
        return [] if self.kind in {Kind.TAGS, Kind.PICTURES} else {} if self.kind is Kind.OWN else ""


OWN_FIELDS = "fields"  # the member with the values of the operator's own fields
PREFIX = f"{OWN_FIELDS}."  # where each change has a name, a value of an own field has the field's name behind this
OWN: Any = {"writer": Writer.OWNER}
REVIEWED: Any = {**OWN, "is_material": True}
MAIN: Any = {**REVIEWED, "is_searched": True}
NOTED: Any = {"is_private": True, "is_nullable": True, "in_webhook": False}
UPDATED = "2026-11-20T10:00:00.123456Z"
LOGO = {"64": f"/images/{'5d' * 32}.webp", "256": f"/images/{'a3' * 32}.webp"}
PICTURE = {
    "id": 81254, "alt": "The list of a project's routes", "640": f"/images/{'c7' * 32}.webp",
    "1280": f"/images/{'0e' * 32}.webp", "width": 1280, "height": 800,
}  # fmt: skip

# In the order of an answer's members. Schemas, columns, webhooks, exports, imports and examples derive from this table.
FIELDS = (
    Field("id", Kind.INTEGER, 42),
    Field("slug", Kind.SLUG, "flask", description="From the title, for readable links; not unique."),
    Field("title", Kind.LINE, "Flask", limits=(1, 100), is_required=True, **MAIN),
    Field("tagline", Kind.LINE, "A lightweight web framework", limits=(1, 140), is_required=True, **MAIN),
    Field(
        "author", Kind.LINE, "Pallets", limits=(1, 100), is_nullable=True,
        description="Who makes it: a person or an organisation. A blank one is null.", **MAIN,
    ),
    Field(
        "description", Kind.PROSE, "Routing, templates and a development server, and little else.",
        limits=(0, 10_000), description="Plain text or Markdown, stored as given.", **MAIN,
    ),
    Field(
        "url", Kind.LINK, "https://flask.example", is_required=True, label=_("website"),
        description="http or https, without credentials.", **MAIN,
    ),
    Field(
        "repository_url", Kind.REPOSITORY, "https://code.example/flask", is_nullable=True, label=_("source code"),
        **MAIN,
    ),
    Field(
        "logo_url", Kind.LINK, "https://flask.example/logo.svg", is_nullable=True, label=_("address of the logo"),
        **REVIEWED,
    ),
    Field(
        "logo", Kind.LOGO, LOGO, writer=Writer.UPLOAD, is_nullable=True, is_material=True
    ),
    Field(
        "pictures", Kind.PICTURES, [PICTURE], limits=(0, 5), writer=Writer.UPLOAD, is_material=True, in_export=False,
        description="In the order of the project's page.",
    ),
    Field("tags", Kind.TAGS, ["python", "web"], limits=(0, 5), is_searched=True, **OWN),
    Field(
        "category", Kind.CATEGORY, "web-frameworks", is_required=True,
        description="The slug of a category, or one that it had before.", **OWN,
    ),
    Field("status", Kind.STATUS, "live", writer=Writer.IMPORT),
    Field("upvotes", Kind.INTEGER, 128, limits=(0, None)),
    Field(
        "has_upvoted", Kind.FLAG, None, is_nullable=True, in_webhook=False, in_export=False,
        description="Whether the caller has voted; null if anonymous.",
    ),
    Field("owner", Kind.OWNER, "ada", writer=Writer.IMPORT),
    Field("created_at", Kind.TIME, UPDATED, writer=Writer.IMPORT),
    Field("updated_at", Kind.TIME, UPDATED, writer=Writer.IMPORT),
    Field(
        "submitted_at", Kind.TIME, UPDATED, writer=Writer.IMPORT,
        description="Creation, or the last return to pending.",
    ),
    Field(
        "published_at", Kind.TIME, "2026-11-20T14:30:00.000000Z", writer=Writer.IMPORT, is_nullable=True,
        description="The first approval.",
    ),
    Field(
        OWN_FIELDS, Kind.OWN, {}, label=_("further facts"),
        description="The values of the operator's own fields by name (`GET /api/fields`): texts, numbers, true or "
        "false, or lists of choices; null clears one.", **OWN,
    ),
    Field(
        "repository", Kind.FACTS, None, is_nullable=True, in_webhook=False, in_export=False,
        description="What the forge of the repository says of it; null where the service does not ask (LINK_CHECKS).",
    ),
    Field(
        "dead_since", Kind.TIME, None, is_nullable=True, in_webhook=False,
        description="When the website was first seen to fail, if it is dead.",
    ),
    Field(
        "picked", Kind.PICK, None, is_nullable=True, in_export=False,
        description="Since when, and why, it is among the picks of the reviewers.",
    ),
    Field(
        "version", Kind.INTEGER, 3, limits=(1, None), in_webhook=False, in_export=False,
        description="Grows with each edit, decision and change of the revision, not with votes. For `If-Match`.",
    ),
    Field("rejection_reason", Kind.REASON, None, writer=Writer.IMPORT, **NOTED),
    Field("revision", Kind.REVISION, None, in_export=False, **NOTED),
    Field("review", Kind.REVIEW, None, in_export=False, **NOTED),
    Field("links", Kind.LINKS, None, in_export=False, **NOTED),
)  # fmt: skip
BODY = tuple(field for field in FIELDS if field.writer is Writer.OWNER)  # the fields of a submission or edit
OWNED = tuple(field for field in FIELDS if field.writer in {Writer.OWNER, Writer.UPLOAD})
NAMES = tuple(field.name for field in OWNED)
WRITTEN = tuple(field.name for field in BODY if field.kind is not Kind.CATEGORY)  # columns with the field's own name
IN_WEBHOOKS = tuple(field.name for field in FIELDS if field.in_webhook)
MATERIAL = frozenset(field.name for field in FIELDS if field.is_material)
SEARCHED = frozenset(field.name for field in FIELDS if field.is_searched)


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values, or changes, by field, each own field by a name with PREFIX."""
    own = values.get(OWN_FIELDS) or {}
    others = {name: value for name, value in values.items() if name != OWN_FIELDS}
    return others | {f"{PREFIX}{name}": value for name, value in own.items()}


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """The opposite of `flat`."""
    own = {name.removeprefix(PREFIX): value for name, value in values.items() if name.startswith(PREFIX)}
    others = {name: value for name, value in values.items() if not name.startswith(PREFIX)}
    return {**others, OWN_FIELDS: own} if own else others


def is_indexed(changes: Iterable[str], own: Mapping[str, Any] | None) -> bool:
    """Whether changes of these fields change what a search finds of a project with these values of own fields.

    Its category says which of them are seen.
    """
    return any(name in SEARCHED or name.startswith(PREFIX) or (name == "category" and own) for name in changes)


def in_order(names: Iterable[str]) -> list[str]:
    """The names of fields that owners write, in the order of the fields; own ones last."""
    distinct = {*names}
    return [name for name in NAMES if name in distinct] + sorted(name for name in distinct if name.startswith(PREFIX))


def reviewed(review_on_edit: str) -> tuple[str, ...]:
    """The fields of a live project that need review when its owner changes them, by REVIEW_ON_EDIT."""
    names = {"always": frozenset(NAMES), "material": MATERIAL, "never": frozenset[str]()}[review_on_edit]
    return tuple(name for name in NAMES if name in names)


def current(project: Project, names: Iterable[str], category: str | None = None) -> dict[str, Any]:
    """The values of some fields of a project, in the form of input. The slug of its category is read if unknown."""
    values: dict[str, Any] = {}
    for name in names:
        if name == "category":
            values[name] = category or _category_slug(project)
        elif name.startswith(PREFIX):
            values[name] = project.fields.get(name.removeprefix(PREFIX))
        else:
            values[name] = getattr(project, name)
    return values


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Changes:
    """The fields of `after` that differ from `before`, each with both values."""
    return {name: {"from": before[name], "to": value} for name, value in after.items() if before[name] != value}


def with_present_category(values: Mapping[str, Any], shown: Mapping[str, Any]) -> Mapping[str, Any]:
    """Input with the present slug of its category, if it has another one than what is shown, and that leads there."""
    if "category" not in values or values["category"] == shown["category"]:
        return values
    return {**values, "category": category_slugs.present(values["category"]) or values["category"]}


def columns(
    fields: Mapping[str, Any], categories: Mapping[str, int] | None = None, own: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Validated fields as columns, including derived ones. `categories` maps slugs to ids if known. Raises Invalid.

    A submission has the id of its category already (`own_fields.of_submission`). `own` are the values of own fields
    that a project has already.
    """
    values = nested(fields)
    if OWN_FIELDS in values:
        values[OWN_FIELDS] = without_cleared({**(own or {}), **values[OWN_FIELDS]})
    if "category" in values:
        slug = values.pop("category")
        known = values.get("category_id")
        values["category_id"] = known or (category_slugs.id_of(slug) if categories is None else categories.get(slug))
        if values["category_id"] is None:
            raise Invalid.field("category", NO_CATEGORY)
    if "title" in values:
        values["slug"] = slugify(values["title"])
    if "url" in values:
        values["url_key"], values["domain"] = url_key(values["url"]), domain_of(values["url"])
    if "description" in values:
        values["text_key"] = text_key(values["description"])
    if "repository_url" in values:
        values["repository_key"] = repository_key(values["repository_url"])
    return values


def without_cleared(own: Mapping[str, Any]) -> dict[str, Any]:
    """The values of own fields that there are."""
    return {name: value for name, value in own.items() if value is not None}


def filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a submission that are columns of the same name; those left out are empty."""
    whole = {field.name: values.get(field.name, field.empty) for field in BODY if field.name in WRITTEN}
    return {**whole, OWN_FIELDS: without_cleared(whole[OWN_FIELDS])}


def refusals(fields: Mapping[str, Any], category_id: int | None = None) -> list[dict[str, str]]:
    """The errors of fields that need the database, in the form of an answer's `errors`. `category_id` may be known.

    The description is rendered here already: the answer has it, and a judge reads it in the transaction, where it would
    take long.
    """
    if fields.get("description"):
        markdown.html(fields["description"])
    if "category" not in fields or (category_id or category_slugs.id_of(fields["category"])) is not None:
        return []
    return [{"pointer": "#/category", "detail": NO_CATEGORY}]


def _category_slug(project: Project) -> str | None:
    return db.session.scalar(select(Category.slug).where(Category.id == project.category_id))
