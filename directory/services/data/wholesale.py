"""Projects written many at once, with all that the rules would have left beside each: rank, search entry, log.

For seeding, where what the rules stamp with the present time needs other times, and for imports, where a statement
for each row and rule takes ten times as long. No webhook is sent, and the fields are those that a schema has checked.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Any, NamedTuple

from sqlalchemy import select

from directory.db.errors import refusing
from directory.errors import Duplicate
from directory.extensions import db
from directory.models import AuditEntry, Project, Status, Upvote
from directory.services.catalog import search_index
from directory.services.catalog.fields import WRITTEN
from directory.services.catalog.ranking import hot
from directory.services.data import bulk
from directory.services.links import url_key
from directory.services.text import slugify

PROJECT = (
    "owner_id",
    "category_id",
    *WRITTEN,
    "logo",
    "slug",
    "url_key",
    "status",
    "rejection_reason",
    "upvotes",
    "hot",
    "version",
    "created_at",
    "updated_at",
    "submitted_at",
    "published_at",
    "id",
)
ENTRY = (
    "action",
    "at",
    "actor_id",
    "project_id",
    "from_state",
    "to_state",
    "reason",
    "url_key",
    "waited_seconds",
    "project_title",
)
VOTE = ("user_id", "project_id", "created_at")

Row = tuple[Any, ...]


class Draft(NamedTuple):
    """One project to be, as it is to stand; `decided_at` is None while it is pending, `id` unless it is reserved.

    `fields` are those that its owner writes, as `fields.filled` returns them, the category apart.
    The other times are derived where they are None. `logged_at` is when the log says that it was imported.
    """

    owner_id: int
    category_id: int
    fields: Mapping[str, Any]
    status: Status
    submitted_at: datetime
    decided_at: datetime | None
    id: int | None = None
    upvotes: int = 0
    rejection_reason: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    published_at: datetime | None = None
    logged_at: datetime | None = None
    logo: dict[str, str] | None = None

    @property
    def title(self) -> str:
        """The title."""
        return str(self.fields["title"])


def write(drafts: Sequence[Draft], *, decided_by: int | None, imported: bool = False) -> None:
    """Add the projects, their search entries and the log of their decisions; votes are another call.

    What is `imported` has been neither submitted nor decided here: its log is one entry that says so.
    Either all have ids or none. Raises Duplicate.
    """
    if not drafts:
        return
    numbered = drafts[0].id is not None
    keys = [url_key(draft.fields["url"]) for draft in drafts]
    names = PROJECT if numbered else PROJECT[:-1]
    with refusing(uq_projects_owner_id_url_key=Duplicate((), "A URL of these has been submitted already.")):
        bulk.load(Project, names, (_columns(*pair)[: len(names)] for pair in zip(drafts, keys, strict=True)))
    written = drafts if numbered else _numbered(drafts, keys)
    search_index.index(SimpleNamespace(id=draft.id, **draft.fields) for draft in written)
    pairs = zip(written, keys, strict=True)
    if imported:
        entries = [_import_entry(*pair) for pair in pairs]
    else:
        entries = [entry for pair in pairs for entry in _entries(*pair, decided_by)]
    entries.sort(key=lambda entry: entry[1])  # the log is read by its ids: they follow time
    bulk.load(AuditEntry, ENTRY, entries)


def _numbered(drafts: Sequence[Draft], keys: list[str]) -> list[Draft]:
    """The drafts with the ids that the database gave them."""
    owned = (Project.owner_id.in_({draft.owner_id for draft in drafts}), Project.url_key.in_(keys))
    found = db.session.execute(select(Project.owner_id, Project.url_key, Project.id).where(*owned))
    ids = {(owner_id, key): project_id for owner_id, key, project_id in found}
    return [draft._replace(id=ids[draft.owner_id, key]) for draft, key in zip(drafts, keys, strict=True)]


def write_votes(votes: Iterable[Row]) -> None:
    """Add votes, rows of VOTE; their number stands in the projects already."""
    bulk.load(Upvote, VOTE, votes)


def _columns(project: Draft, key: str) -> Row:
    created = project.created_at or project.submitted_at
    published = project.published_at or (project.decided_at if project.status is Status.LIVE else None)
    return (
        project.owner_id,
        project.category_id,
        *(project.fields[name] for name in WRITTEN),
        project.logo,
        slugify(project.title),
        key,
        project.status.value,
        project.rejection_reason,
        project.upvotes,
        hot(project.upvotes, published or created),
        2 if project.decided_at else 1,
        created,
        project.updated_at or project.decided_at or project.submitted_at,
        project.submitted_at,
        published,
        project.id,
    )


def _import_entry(project: Draft, key: str) -> Row:
    at, status, reason = project.logged_at or project.submitted_at, project.status.value, project.rejection_reason
    return ("project.imported", at, project.owner_id, project.id, None, status, reason, key, None, project.title)


def _entries(project: Draft, key: str, decided_by: int | None) -> list[Row]:
    pending, status = Status.PENDING.value, project.status.value
    submitted = (
        "project.submitted",
        project.submitted_at,
        project.owner_id,
        project.id,
        None,
        pending,
        None,
        key,
        None,
        project.title,
    )
    if project.decided_at is None:
        return [submitted]
    action = "project.approved" if project.status is Status.LIVE else "project.rejected"
    waited = (project.decided_at - project.submitted_at).total_seconds()
    reason = project.rejection_reason
    return [
        submitted,
        (action, project.decided_at, decided_by, project.id, pending, status, reason, key, waited, project.title),
    ]
