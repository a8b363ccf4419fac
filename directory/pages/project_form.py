"""The form of a project: what it asks for, how a project becomes its values, and what it shows with them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from flask import current_app
from marshmallow import ValidationError, fields

from directory.api.schemas.projects import TAKEN, OwnValues
from directory.errors import Invalid
from directory.http import rate_limits
from directory.http.authentication import caller
from directory.http.exchange import current
from directory.http.fields import Flag, Link, Repository, Slug, Strict, Whole
from directory.language.messages import Message, _
from directory.pages.forms import Form
from directory.services import permissions
from directory.services.catalog import fields as table
from directory.services.catalog import own_fields
from directory.services.catalog.fields import BODY, OWN_FIELDS, PREFIX, Field, Kind
from directory.services.identity import Caller
from directory.services.pictures import pictures
from directory.services.pictures.pictures import PictureList
from directory.services.text.rules import TAG_MAX, typed_tags, with_scheme

T = TypeVar("T")
TAGS_MAX = 5
LINE_MAX = 4 * TAGS_MAX * TAG_MAX  # characters in which five tags are typed
LABELS = {
    "url": _("Website"), "title": _("Title"), "tagline": _("Tagline"), "category": _("Category"), "tags": _("Tags"),
    "description": _("Description"), "author": _("Author"), "repository_url": _("Source code"), "logo": _("Logo"),
}  # fmt: skip
# What the conversion of pictures says about a file, in a sentence of its own.
REASONS: dict[str, str] = {
    pictures.NOT_ONE: _("It is not a PNG, JPEG or WebP picture, or it is damaged. Choose another file."),
    pictures.TOO_LARGE: _("It must be at most {number} pixels wide and high.", number=f"{pictures.SIDE_MAX:,}"),
    pictures.TOO_MANY: _(
        "It has too many pixels: at most {png} million as a PNG, half as many with 16 bits, and {webp} million as a "
        "WebP. Send it as a JPEG that is not progressive.", **pictures.MILLIONS,
    ),
    pictures.TOO_SLOW: _("It has too many scans for its pixels. Send it as a JPEG that is not progressive."),
    pictures.UNSEEN: _("It is transparent everywhere. Choose another file."),
}  # fmt: skip
ASKED = tuple(field for field in BODY if field.name in LABELS)  # a logo is a file, whose address the form does not ask


class VersionForm(Strict):
    """The version of the project that the page with the form shows."""

    version = Whole(1, 2**63 - 1)


class TagLine(fields.String):
    """Tags in one line, as people type them."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        line = super()._deserialize(value, attr, data, **kwargs)
        if len(line) > LINE_MAX or len(tags := typed_tags(line)) > TAGS_MAX:
            raise ValidationError(_("Up to {number} tags.", number=TAGS_MAX))
        slugs = []
        for tag in tags:
            try:
                slugs.append(Slug(TAG_MAX).deserialize(tag))
            except ValidationError:
                said = _(
                    "Use a–z, 0–9 and hyphens in a tag, up to {number} characters: not “{tag}”.",
                    number=TAG_MAX, tag=tag[:TAG_MAX],
                )  # fmt: skip
                raise ValidationError(said) from None
        return list(dict.fromkeys(slugs))  # an invisible character, which is removed, may tell two apart


class TypedLink(Link):
    """A link that may be typed without its scheme."""

    def check(self, value: str) -> str:
        """The URL."""
        return super().check(with_scheme(value))


class TypedRepository(Repository):
    """The address of a repository that may be typed without its scheme."""

    def check(self, value: str) -> str:
        """The https address."""
        return super().check(with_scheme(value))


class TypedValues(OwnValues):
    """Values of own fields as they are typed; each ticked choice of several has its own name behind the field's."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        defined, values = own_fields.present(), dict[str, Any]()
        for key, text in value.items():
            name, _dot, choice = key.removeprefix(PREFIX).partition(".")
            own = defined.get(name)
            if own is not None and own.kind is Kind.CHOICES:
                values[name] = [*values.get(name, []), *([choice] if choice and text else [])]
            else:
                values[name] = own_fields.typed(own, text.strip()) if text.strip() else None
        return super()._deserialize(values, attr, data, **kwargs)


ASKING = {
    **TAKEN,
    Kind.TAGS: lambda _limits, **facts: TagLine(**facts),
    Kind.LINK: lambda _limits, **facts: TypedLink(**facts),
    Kind.REPOSITORY: lambda _limits, **facts: TypedRepository(**facts),
}


def _asked(field: Field) -> Any:
    facts = {"allow_none": True} if field.is_nullable else {}
    return ASKING[field.kind](field.limits, required=field.is_required, **facts)


class ProjectForm(Strict):
    """The fields of a project as they are typed."""

    class Meta:
        include: ClassVar = {**{field.name: _asked(field) for field in ASKED}, OWN_FIELDS: TypedValues()}


class NewForm(ProjectForm):
    """A submission. With `another` similar projects were shown, and this is another one."""

    another = Flag()


class EditForm(ProjectForm):
    """An edit of the version that the form showed.

    What waits for its owner stays there without `give_back`. While an appeal is open the form asks for `end_appeal`.
    """

    version = Whole(1, 2**63 - 1, required=True)
    remove_logo = Flag()
    give_back = Flag()
    end_appeal = Flag()


class TextForm(ProjectForm):
    """Texts to be taken into the form of an edit: any of the fields, in any state."""

    class Meta:
        include: ClassVar = {field.name: fields.String() for field in ASKED}


def filled(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a form that was read; those left blank are empty. Own fields are there if the form has some."""
    own = {OWN_FIELDS: body[OWN_FIELDS]} if OWN_FIELDS in body else {}
    return {field.name: body.get(field.name, field.empty) for field in ASKED} | own


def chosen_logo() -> tuple[bytes, bytes] | None:
    """The logo that was chosen in the form; None without one. Raises Invalid at the field, and Unavailable."""
    return chosen("logo", pictures.UPLOAD_MAX, pictures.as_logo, _("This file cannot be the logo. {why}"))


def chosen(field: str, most: int, convert: Callable[..., T], refusal: Message) -> T | None:
    """What a file of the form is converted to; None without one. Raises Invalid at the field, and Unavailable."""
    content = current().files.get(field)
    if content is None:
        return None
    if len(content) > most:
        said = _("This file is larger than {number} MB. Save it smaller, and choose it again.", number=most // 2**20)
        raise Invalid.field(field, said)
    rate_limits.hit("pictures")
    try:
        return convert(content, by=caller().id)
    except Invalid as error:
        raise Invalid.field(field, refusal.filled(why=REASONS[error.detail])) from None


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Values of fields as the form shows them, by the names of its inputs."""
    typed: dict[str, str] = {}
    for name, value in table.flat(values).items():
        if not name.startswith(PREFIX):
            typed[name] = ", ".join(value) if name == "tags" else value or ""
        elif isinstance(value, list):
            typed |= {name: "", **{f"{name}.{choice}": "true" for choice in value}}
        else:
            typed[name] = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return typed


def waiting(project: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of a project that wait for review."""
    changes: dict[str, Any] = (project["revision"] or {}).get("changes") or {}
    return changes


def live(project: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a project without the changes that wait."""
    others = {"category": project["category"]["slug"], OWN_FIELDS: project[OWN_FIELDS]}
    return {field.name: project[field.name] for field in ASKED} | others


@dataclass(frozen=True, slots=True)
class Editing:
    """What the form of an edit starts with, and what it shows with its fields.

    `values` are as its owner wants the project: with the changes that wait. Administrators edit what is shown, because
    saving would otherwise approve those. `others` are the other texts of the fields that wait: for the owner the live
    ones, for an administrator the waiting ones.
    """

    values: dict[str, str]
    others: dict[str, str]
    logo: Any
    pictures: PictureList

    @classmethod
    def of(cls, project: Mapping[str, Any], by: Caller) -> "Editing":
        """For a caller."""
        changes, now = table.flat(waiting(project)), table.flat(live(project))
        logo, shown = (changes.get(name, project[name]) for name in ("logo", "pictures"))
        changed = {name: value for name, value in changes.items() if name in now or name.startswith(PREFIX)}
        if applies_at_once(project, by):
            return cls(texts(now), texts(changed), project["logo"], project["pictures"])
        return cls(texts({**now, **changed}), texts({name: now.get(name) for name in changed}), logo, shown)


def applies_at_once(project: Mapping[str, Any], by: Caller) -> bool:
    """Whether edits of a live project by a caller apply without a review: those of administrators, if they may."""
    editor = permissions.as_editor(by, project["owner"]["id"], current_app.config["SELF_REVIEW"])
    return permissions.may(editor, "administer")


def differing(form: Form, saved: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """The fields whose saved text is another than the typed one: their names, labels, and both texts."""
    typed_ = {name: form.values.get(name, "").replace("\r\n", "\n") for name in saved}
    return [
        (name, LABELS[name], typed_[name], saved[name])
        for name in LABELS
        if name in saved and typed_[name] != saved[name]
    ]


def reviewed() -> list[str]:
    """The names of the fields of the form whose changes in a live project wait for review."""
    names = table.reviewed(current_app.config["REVIEW_ON_EDIT"])
    return [name for name in LABELS if name in names]
