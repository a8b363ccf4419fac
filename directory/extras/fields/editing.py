"""The definitions of own fields: they are listed, added, changed, ordered and deleted; the log has all."""

from collections.abc import Container, Mapping
from hashlib import sha256
from typing import Any

from sqlalchemy import func, select, update

from directory import events
from directory.api.schemas.review import ReviewDetail
from directory.errors import ChoiceInUse, Duplicate, Invalid, NotFound, PreconditionFailed, TooMany
from directory.extensions import db, modify
from directory.extras.fields.definitions import SEARCHED, WITH_CHOICES, WITHOUT_FACET
from directory.language.messages import _
from directory.models import (
    Audience,
    Category,
    FieldDefinition,
    FieldKind,
    FieldState,
    Project,
    ProjectField,
    Review,
    now,
)
from directory.services import audit, turns
from directory.services.bounds import lock
from directory.services.catalog import category_slugs, fields, own_values
from directory.services.identity import Caller
from directory.services.review.case import advance, flush, locked
from directory.services.review.steps import Act

MOST = 30
AT_ONCE = 500  # projects that follow a change of a field at once
MEMBERS = (
    "name", "label", "help", "kind", "choices", "required", "material", "audience", "facet", "in_list", "search",
    "categories", "retired",
)  # fmt: skip
INDEXED = {"search", "audience", "choices", "categories"}  # what the words depend on by which search finds projects
HIDING = {"audience", "categories"}  # by which values that everybody saw may be hidden
DEFAULTS: dict[str, Any] = {
    "help": "", "choices": [], "required": False, "material": True, "audience": Audience.PUBLIC.value, "facet": False,
    "in_list": False, "search": False, "categories": None, "retired": False,
}  # fmt: skip
RESERVED = frozenset({*ReviewDetail().fields, "order"})
FULL = _("There are {number} fields already. Delete one first.", number=MOST)
TAKEN = _("Another field has this name, or values of one that was deleted are left.")
IS_RESERVED = _("A project has a field of this name already.")
FIXED = _("This never changes.")
NEEDS_CHOICES = _("Give the choices.")
NO_CHOICES = _("Only a choice and choices have these.")
NO_FACET = _("Lists cannot be narrowed by a field of this kind.")
NO_SEARCH = _("A field of this kind cannot be searched.")
NO_CATEGORY = _("There is no category {slug}.")
NOT_ALL = _("Give the name of every field once.")


def listed(*, counted: bool = True) -> list[dict[str, Any]]:
    """All fields in their order; `counted` with the numbers of projects that have a value, and each choice."""
    rows = _rows()
    ids = {category_id for row in rows for category_id in row.categories or ()}
    query = select(Category.id, Category.slug).where(Category.id.in_(ids))
    slugs: dict[int, str] = dict(db.session.execute(query).all()) if ids else {}
    found = [_members(row, slugs) for row in rows]
    if counted:
        for field in found:
            _count(field)
    return found


def one(name: str, *, counted: bool = True) -> dict[str, Any]:
    """A field. Raises NotFound."""
    field = next((each for each in listed(counted=False) if each["name"] == name), None)
    if field is None:
        raise NotFound
    if counted:
        _count(field)
    return field


def order_version(found: list[dict[str, Any]]) -> int:
    """A number that identifies an order of fields."""
    return int.from_bytes(sha256(" ".join(field["name"] for field in found).encode()).digest()[:7])


def refusals(given: Mapping[str, Any]) -> list[dict[str, str]]:
    """What is wrong with a new field, as far as its members are valid."""
    found = _refused(given, given.get("kind"))
    if given.get("name") in RESERVED:
        found["name"] = IS_RESERVED
    if given.get("kind") in WITH_CHOICES and "choices" not in given:
        found["choices"] = NEEDS_CHOICES
    return [{"pointer": f"#/{name}", "detail": detail} for name, detail in found.items()]


def add(given: Mapping[str, Any], *, by: Caller | None) -> None:
    """Add a field, the last one. Raises Invalid, TooMany, Duplicate."""
    if found := refusals(given):
        raise Invalid(found)
    lock(FieldDefinition)
    rows = {row.name: row for row in db.session.scalars(select(FieldDefinition))}
    row = rows.get(given["name"])
    if row is not None and row.state != FieldState.GONE:
        raise Duplicate(["name"], TAKEN)
    if sum(each.state == FieldState.PRESENT for each in rows.values()) >= MOST:
        raise TooMany(FULL)
    row = row or FieldDefinition(name=given["name"], version=0)
    values = {**DEFAULTS, **given}
    row.place = 1 + max((each.place for each in rows.values() if each is not row), default=0)
    row.state = FieldState.PRESENT
    _write(row, values)
    db.session.add(row)
    changes = {name: {"from": None, "to": values[name]} for name in MEMBERS}
    audit.record(events.FIELD_CREATED, by=by, changes=changes)


def change(name: str, given: Mapping[str, Any], *, by: Caller | None, versions: Container[int] | None = None) -> bool:
    """Change members of a field; returns whether any is different now.

    Raises NotFound, PreconditionFailed, Invalid, ChoiceInUse.
    """
    lock(FieldDefinition)
    row, before = _found(name, versions)
    found = _refused(given, before["kind"])
    found |= {each: FIXED for each in ("name", "kind") if given.get(each, before[each]) != before[each]}
    if found:
        raise Invalid([{"pointer": f"#/{each}", "detail": detail} for each, detail in found.items()])
    given = {**given, **({"categories": _present(given["categories"])} if "categories" in given else {})}
    after = {**before, **given}
    changes = {each: {"from": before[each], "to": after[each]} for each in MEMBERS if after[each] != before[each]}
    if not changes:
        return False
    was, is_now = ({choice["value"] for choice in each["choices"]} for each in (before, after))
    _require_unused(name, was - is_now)
    _write(row, given)
    audit.record(events.FIELD_CHANGED, by=by, changes={"name": {"from": name, "to": name}, **changes})
    if (before["search"] or after["search"]) and not INDEXED.isdisjoint(changes):
        row.indexed_to = 0
        db.session.flush()
        own_values.index_again(name, AT_ONCE)
    if not HIDING.isdisjoint(changes):
        own_values.hide(name)
    return True


def remove(name: str, *, by: Caller, versions: Container[int] | None = None) -> None:
    """Delete a field. Answers lack its values at once; `own_values.purge` removes them from the database, in portions.

    Raises NotFound, PreconditionFailed.
    """
    lock(FieldDefinition)
    row, before = _found(name, versions)
    row.state = FieldState.LEAVING
    _write(row, {})
    changes = {each: {"from": value, "to": None} for each, value in before.items() if each in MEMBERS}
    audit.record(events.FIELD_DELETED, by=by, changes=changes)
    db.session.flush()
    _take_from_cases(name)
    own_values.remove_values(name, AT_ONCE)
    if before["search"] or row.indexed_to is not None:
        own_values.hide(name)


def reorder(names: list[str], *, by: Caller, versions: Container[int] | None = None) -> None:
    """Put the fields into an order, which names all of them. Raises Invalid, PreconditionFailed."""
    lock(FieldDefinition)
    found = listed(counted=False)
    if versions is not None and order_version(found) not in versions:
        raise PreconditionFailed(_("The order has changed meanwhile. Load it again."))
    before = [field["name"] for field in found]
    if sorted(names) != sorted(before):
        raise Invalid.field("order", NOT_ALL)
    if names == before:
        return
    stamp = _next_stamp()
    for row in _rows():
        row.place, row.stamp = 1 + names.index(row.name), stamp
    audit.record(events.FIELD_CHANGED, by=by, changes={"order": {"from": before, "to": names}})


def take_over(given: list[dict[str, Any]]) -> tuple[int, int]:
    """Add fields, or change those whose names are there; returns how many of each. Raises what these raise."""
    added = changed = 0
    for field in given:
        if any(row.name == field["name"] for row in _rows()):
            changed += change(field["name"], field, by=None)
        else:
            add(field, by=None)
            added += 1
        db.session.flush()
    return added, changed


def _rows() -> list[FieldDefinition]:
    query = select(FieldDefinition).where(FieldDefinition.state == FieldState.PRESENT)
    query = query.order_by(FieldDefinition.place, FieldDefinition.id)
    return list(db.session.scalars(query, execution_options={"populate_existing": True}))


def _found(name: str, versions: Container[int] | None) -> tuple[FieldDefinition, dict[str, Any]]:
    """A field and its members, if its version is allowed. Raises NotFound, PreconditionFailed."""
    found = one(name, counted=False)
    if versions is not None and found["version"] not in versions:
        raise PreconditionFailed(_("The field has changed meanwhile. Load it again."))
    return next(row for row in _rows() if row.name == name), found


def _members(row: FieldDefinition, slugs: Mapping[int, str]) -> dict[str, Any]:
    """A field as administrators see it, with its categories by their present slugs."""
    found = {name: getattr(row, name) for name in (*MEMBERS, "version")}
    if row.categories is not None:
        found["categories"] = sorted(slugs[category_id] for category_id in row.categories if category_id in slugs)
    return {**found, "choices": [dict(choice) for choice in row.choices]}


def _count(field: dict[str, Any]) -> None:
    """Add the number of projects that have a value, and each choice."""
    own = ProjectField.field == field["name"]
    query = select(ProjectField.value, func.count()).where(own).group_by(ProjectField.value)
    by_value: dict[str, int] = dict(db.session.execute(query).all())
    field["projects"] = sum(by_value.values())
    if field["kind"] == FieldKind.CHOICES:
        having = select(ProjectField.project_id).where(own).distinct().subquery()
        field["projects"] = db.session.scalar(select(func.count()).select_from(having))
    for choice in field["choices"]:
        choice["projects"] = by_value.get(choice["value"], 0)


def _refused(given: Mapping[str, Any], kind: str | None) -> dict[str, str]:
    """What is wrong with members of a field of a kind."""
    found: dict[str, str] = {}
    if given.get("choices") and kind is not None and kind not in WITH_CHOICES:
        found["choices"] = NO_CHOICES
    if given.get("facet") and kind in WITHOUT_FACET:
        found["facet"] = NO_FACET
    if given.get("search") and kind is not None and kind not in SEARCHED:
        found["search"] = NO_SEARCH
    slugs = given.get("categories") or []
    known = category_slugs.ids(slugs) if slugs else {}
    if unknown := next((slug for slug in slugs if slug not in known), None):
        found["categories"] = NO_CATEGORY.filled(slug=unknown)
    return found


def _present(slugs: list[str] | None) -> list[str] | None:
    """The present slugs of categories, in the order of an answer."""
    return slugs and sorted({category_slugs.present(slug) or slug for slug in slugs})


def _write(row: FieldDefinition, given: Mapping[str, Any]) -> None:
    """Write members, and let all processes see that the definitions have changed."""
    for name, value in given.items():
        if name == "categories" and value is not None:
            value = sorted(category_slugs.ids(value).values())
        setattr(row, name, value)
    row.version += 1
    row.stamp = _next_stamp()


def _next_stamp() -> int:
    return 1 + (db.session.scalar(select(func.max(FieldDefinition.stamp))) or 0)


def _require_unused(name: str, values: set[str]) -> None:
    """Raise ChoiceInUse if projects have one of these choices."""
    if values:
        having = select(func.count(ProjectField.project_id.distinct()))
        number = db.session.scalar(having.where(ProjectField.field == name, ProjectField.value.in_(values)))
        if number:
            raise ChoiceInUse(projects=number)


def _take_from_cases(name: str) -> None:
    """Remove the values of a field from the changes of live projects, and withdraw changes that have nothing else."""
    query = select(Review.project_id, Review.changes).where(Review.is_current, turns.of_changes())
    key = f"{fields.PREFIX}{name}"
    ids = [project_id for project_id, changes in db.session.execute(query) if key in fields.flat(changes or {})]
    cases, at = locked(ids) if ids else [], now()
    for case in cases:
        review: Any = case.review
        left = fields.flat(review.changes)
        left.pop(key)
        if left or review.category is not None or review.outcome is not None:
            review.changes = fields.nested(left)
        else:
            advance(case, Act.WITHDRAW, by=None, at=at)
    flush(cases)
    if ids:
        modify(update(Project).where(Project.id.in_(ids)).values(version=Project.version + 1))
