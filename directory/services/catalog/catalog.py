"""Reading projects: access rules, one project, and the lists (the hot path), whose rows `ways` finds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from directory.db.paging import Slice, Window, cut
from directory.db.statements import Row
from directory.errors import NotFound
from directory.extensions import db
from directory.models import AccountStatus, Project
from directory.services import permissions, turns
from directory.services.accounts.sessions import Credential
from directory.services.catalog import orders, own_fields, queries, readers, search, ways
from directory.services.catalog.columns import (
    AFTER,
    DESCRIPTION,
    ID,
    NAMES,
    OWNER,
    STAMP,
    Site,
    private_members,
    site_of,
)
from directory.services.catalog.filters import Filters
from directory.services.identity import Caller

QUICK_TEXT = 500  # characters; any text of this length is rendered within 10 ms
READER = 3  # columns of a row of `readers.projects` before those of the project


class Shown(NamedTuple):
    """The id of a reader (None if anonymous), and a project as they see it (None if they may not see it)."""

    reader_id: int | None
    project: dict[str, Any] | None


def whose(project_id: int) -> Any:
    """What `permissions` is asked about a project: its owner, its state and its category; None if there is none."""
    columns = select(Project.owner_id, Project.status, Project.category_id).where(Project.id == project_id)
    return db.session.execute(columns).one_or_none()


def one(project_id: int, *, viewer: Caller | None) -> dict[str, Any]:
    """A project as `viewer` may see it: live, their own, or any for an administrator. Raises NotFound."""
    if viewer is None:
        return _one("anyone", project_id, None)
    return _one("reviewer" if permissions.may(viewer, "administer") else "member", project_id, viewer)


def for_review(project_id: int, *, by: Caller) -> dict[str, Any]:
    """A project of any state with all that a reviewer sees. Raises NotFound unless `by` may review its category."""
    project = many([project_id], viewer=by).get(project_id)
    if project is None or not permissions.may(by, "review", project["category_id"]):
        raise NotFound
    return project


def for_readers(asked: list[tuple[Credential | None, int]], *, quick: bool) -> list[Shown | None]:
    """For each credential (None if anonymous) and project id: the reader's id and the project as they see it.

    An item is None if `readers` does not know the credential. One statement reads for the anonymous readers, and one
    for the others. With `quick` a project is None if its description is long and must be rendered for its owner or an
    administrator, which takes too long.
    """
    anonymous = [project_id for credential, project_id in asked if credential is None]
    live = queries.live().all([(project_id,) for project_id in anonymous])
    site = site_of(live)
    shown = iter([Shown(None, None if row is None else _view(row, None, site)) for row in live])
    rows = readers.projects().all(
        [(*credential.digests, project_id) for credential, project_id in asked if credential is not None]
    )
    site_of_readers = site_of(rows, READER + STAMP)
    known = iter([_known(row, site_of_readers, quick) for row in rows])
    return [next(shown if credential is None else known) for credential, _ in asked]


def _known(row: Row | None, site: Site, quick: bool) -> Shown | None:
    """The reader and the project of a row of `readers.projects`."""
    if row is None:
        return None
    reader, row = Caller(*row[:READER]), row[READER:]
    is_long = len(row[DESCRIPTION] or "") > QUICK_TEXT
    if row[ID] is None or (quick and is_long and permissions.owns_or_administers(reader, row[OWNER])):
        return Shown(reader.id, None)
    return Shown(reader.id, _detail(row, reader, site))


def stored(project_id: int) -> dict[str, Any]:
    """A project in any state with its public fields, without an access check. Raises NotFound."""
    return _one("stored", project_id, None)


def all_stored(project_ids: list[int]) -> list[dict[str, Any]]:
    """Projects in any state, in the order of their ids, by one statement, without an access check."""
    rows = queries.these(False, db.engine.dialect.name).all({"ids": project_ids})
    return views(sorted(rows, key=lambda row: row[ID]), None)


def many(project_ids: list[int], *, viewer: Caller) -> dict[int, dict[str, Any]]:
    """The projects by id with all that a reviewer sees, without an access check."""
    rows = queries.several(db.engine.dialect.name).all({"ids": project_ids, "viewer_id": viewer.id})
    site = site_of(rows)
    return {row[ID]: _detail(row, viewer, site, reviews=True) for row in rows}


def page(
    filters: Filters, sort: str, window: Window, *, viewer: Caller | None, found_by: ways.Matched | None = None,
    reviews: bool = False,
) -> Slice:  # fmt: skip
    """A slice of the projects that match `filters`. `public_scope` checks access.

    `found_by` is what `ways.matched` returns for the filters, where the caller has it. With `reviews` the projects have
    all that a reviewer sees: the calling function has narrowed them to the categories of `viewer`.
    """
    found_by = found_by or ways.matched(filters)
    if found_by is None:
        return Slice([], None, None, total=0)
    rows, number = ways.rows(found_by, filters, sort, window, viewer)
    projects = cut(rows, orders.named(sort), window)
    projects.total_capped = filters.q is not None and number > search.MOST
    projects.total = search.MOST if projects.total_capped else number
    projects.items = views(projects.items, viewer, reviews=reviews)
    return projects


def _one(audience: str, project_id: int, viewer: Caller | None) -> dict[str, Any]:
    parameters = {"project_id": project_id} if viewer is None else {"project_id": project_id, "viewer_id": viewer.id}
    row = queries.one(audience).first(parameters)
    if row is None:
        raise NotFound
    site = site_of([row])
    return _view(row, None, site) if viewer is None else _detail(row, viewer, site)


def views(rows: Sequence[Row], viewer: Caller | None, *, reviews: bool = False) -> list[dict[str, Any]]:
    """Rows of `columns.shown` as the projects in answers.

    Their owner, administrators, and who `reviews` them get the private fields.
    """
    site = site_of(rows)
    return [_view(row, viewer, site, reviews=reviews) for row in rows]


def _detail(row: Row, viewer: Caller, site: Site, *, reviews: bool = False) -> dict[str, Any]:
    project = _view(row, viewer, site, reviews=reviews)
    if "rejection_reason" in project:
        project["queue_position"] = row[AFTER[True]]
        project["description_html"] = project["description"]  # the answer's schema renders it
    return project


def _view(row: Row, viewer: Caller | None, site: Site, *, reviews: bool = False) -> dict[str, Any]:
    project = dict(zip(NAMES, row, strict=False))
    project["category"] = {"slug": project.pop("category_slug"), "name": project.pop("category_name")}
    picked_at, words = project.pop("picked_at"), project.pop("picked_words")
    project["picked"] = None if picked_at is None else {"at": picked_at, "words": words}
    owner_id = project.pop("owner_id")
    project["owner"] = {"id": owner_id, "username": project.pop("owner_username")}
    is_inside = reviews or permissions.owns_or_administers(viewer, owner_id)
    values, category_id = project["fields"], project["category_id"]
    project["fields"] = own_fields.shown(values, site.defined, category_id, to_all=not is_inside) if values else {}
    del project["fields_stamp"]
    project["owner_has_page"] = project.pop("owner_status") == AccountStatus.ACTIVE  # for pages; no answer shows it
    if not site.shows_links:
        project["repository"] = project["dead_since"] = None
    if is_inside:
        facts = turns.Facts(*row[AFTER[False] : AFTER[True]])
        standing = turns.standing(facts, facts.published_at)
        project.update(private_members(facts, standing, site))
        project["standing"] = standing  # for pages; no answer shows it
    return project
