"""Writes many projects at once, each with its rank, its search entry and its log, as the rules would.

Seeding needs times in the past, where the rules take the present. Imports need few statements: with one for each row
and rule they take ten times as long. No webhook is sent, and the fields are those that a schema has checked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select, update

from directory import events
from directory.db.errors import refusing
from directory.errors import Duplicate
from directory.events import Event
from directory.extensions import db
from directory.models import AuditEntry, Outcome, Project, Review, Reviewed, Status, Upvote
from directory.models.base import logo_addresses
from directory.services import bulk
from directory.services.catalog import search_index
from directory.services.catalog.fields import WRITTEN
from directory.services.catalog.orders import hot
from directory.services.pictures import logos
from directory.services.pictures.pictures import described
from directory.services.text.equal_addresses import repository_key, url_key
from directory.services.text.keys import domain_of, text_key
from directory.services.text.rules import slugify

_GIVE_REASON = update(Review.__table__).where(Review.__table__.c.project_id == bindparam("project"))
_GIVE_REASON = _GIVE_REASON.values(reason=bindparam("why"))
# The events of decisions, by the state in which each leaves a project.
DECISIONS = {event.after: event for event in events.TABLE if event.decision}
VOTE = ("user_id", "project_id", "created_at")


class Draft(NamedTuple):
    """A project to write. `decided_at` is None while it is pending, `id` unless it is reserved.

    `fields` are those that its owner writes, as `fields.filled` returns them, without the category.
    The other times are derived where they are None. `logged_at` is when the log says that it was imported,
    `picked` when it was picked, and why.
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
    pictures: Sequence[dict[str, Any]] = ()
    picked: tuple[datetime, str] | None = None


def write(drafts: Sequence[Draft], *, decided_by: int | None, imported: bool = False) -> list[int]:
    """Add the projects, their search entries and the log of their decisions, and return their ids.

    Votes are another call.

    What is `imported` has been neither submitted nor decided here: its log is one entry that says so.
    Either all have ids or none. Raises Duplicate.
    """
    if not drafts:
        return []
    keys = [url_key(draft.fields["url"]) for draft in drafts]
    with refusing(uq_projects_owner_id_url_key=Duplicate((), "A URL of these has been submitted already.")):
        bulk.load_dicts(Project, [_project(*pair) for pair in zip(drafts, keys, strict=True)])
    written = drafts if drafts[0].id is not None else _numbered(drafts, keys)
    _write_cases(written, decided_by)
    search_index.index(SimpleNamespace(id=draft.id, category_id=draft.category_id, **draft.fields) for draft in written)
    pairs = zip(written, keys, strict=True)
    if imported:
        entries = [_import_entry(*pair) for pair in pairs]
    else:
        entries = [entry for pair in pairs for entry in _entries(*pair, decided_by)]
    # The log is read by its ids: they follow time.
    bulk.load_dicts(AuditEntry, sorted(entries, key=lambda entry: entry["at"]))
    return [draft.id for draft in written if draft.id is not None]


def with_pictures(drafts: Sequence[Draft], rows: Sequence[Mapping[str, Any]]) -> list[Draft]:
    """Store the logos and pictures of the rows, and give the drafts their addresses.

    `logo` of a row is what `pictures.as_logo` made; each of its `pictures` has its `alt` and what `pictures.as_picture`
    made, `picture`. It may have neither.
    """
    files = {row["logo"] for row in rows if row.get("logo")}
    files |= {picture["picture"].files for row in rows for picture in row.get("pictures") or ()}
    # In one order, as their rows are locked: two transactions could wait for each other in a ring.
    digests = {pair: logos.keep(pair) for pair in sorted(files)}
    filled = []
    for draft, row in zip(drafts, rows, strict=True):
        pictures = [(picture["picture"], picture["alt"]) for picture in row.get("pictures") or ()]
        logo = logo_addresses(digests[row["logo"]]) if row.get("logo") else None
        shown = [described(picture, digests[picture.files], alt) for picture, alt in pictures]
        filled.append(draft._replace(logo=logo, pictures=shown))
    return filled


def _numbered(drafts: Sequence[Draft], keys: list[str]) -> list[Draft]:
    """The drafts with the ids that the database gave them."""
    owned = (Project.owner_id.in_({draft.owner_id for draft in drafts}), Project.url_key.in_(keys))
    columns = (Project.owner_id, Project.url_key, Project.repository_key, Project.id)
    ids = {tuple(identity): project_id for *identity, project_id in db.session.execute(select(*columns).where(*owned))}
    identities = [(draft.owner_id, key, _repository(draft)) for draft, key in zip(drafts, keys, strict=True)]
    return [draft._replace(id=ids[identity]) for draft, identity in zip(drafts, identities, strict=True)]


def _repository(draft: Draft) -> str | None:
    return repository_key(draft.fields["repository_url"])


def write_votes(votes: Iterable[tuple[Any, ...]]) -> None:
    """Add votes, rows of VOTE; their number stands in the projects already."""
    bulk.load(Upvote, VOTE, votes)


def _project(draft: Draft, key: str) -> dict[str, Any]:
    created = draft.created_at or draft.submitted_at
    published = draft.published_at or (draft.decided_at if draft.status is Status.LIVE else None)
    columns = {
        "owner_id": draft.owner_id,
        "category_id": draft.category_id,
        **{name: draft.fields[name] for name in WRITTEN},
        "logo": draft.logo,
        "pictures": [*draft.pictures],
        "slug": slugify(draft.fields["title"]),
        "url_key": key,
        "repository_key": _repository(draft),
        "domain": domain_of(draft.fields["url"]),
        "text_key": text_key(draft.fields["description"]),
        "status": draft.status.value,
        "upvotes": draft.upvotes,
        "hot": hot(draft.upvotes, published or created),
        "version": 2 if draft.decided_at else 1,
        "created_at": created,
        "updated_at": draft.updated_at or draft.decided_at or draft.submitted_at,
        "submitted_at": draft.submitted_at,
        "published_at": published,
        **dict(zip(("picked_at", "picked_words"), draft.picked or (None, None), strict=True)),
    }
    return columns if draft.id is None else {"id": draft.id, **columns}


def _write_cases(drafts: Sequence[Draft], decided_by: int | None) -> None:
    """Add the cases of rejected projects. The database has made those of pending ones, which may have a reason too."""
    bulk.load_dicts(Review, [_rejection(draft, decided_by) for draft in drafts if draft.status is Status.REJECTED])
    pending = [draft for draft in drafts if draft.status is Status.PENDING and draft.rejection_reason]
    if pending:
        rows = [{"project": draft.id, "why": draft.rejection_reason} for draft in pending]
        db.session.connection().execute(_GIVE_REASON, rows)


def _rejection(draft: Draft, decided_by: int | None) -> dict[str, Any]:
    """The case of a rejected project; its owner cannot appeal."""
    about = {"project_id": draft.id, "category_id": draft.category_id, "kind": Reviewed.SUBMISSION.value}
    outcome = {"outcome": Outcome.REJECTED.value, "reason": draft.rejection_reason, "decided_by": decided_by}
    return {**about, **outcome, "since": draft.decided_at or draft.submitted_at, "place": draft.submitted_at}


def _entry(action: Event, at: datetime, draft: Draft, key: str, **values: Any) -> dict[str, Any]:
    others = {"actor_id": draft.owner_id, "from_state": None, "reason": None, "waited_seconds": None}
    about = {"project_id": draft.id, "url_key": key, "project_title": draft.fields["title"]}
    return {"action": action, "at": at, **about, **others, **values}


def _import_entry(draft: Draft, key: str) -> dict[str, Any]:
    at = draft.logged_at or draft.submitted_at
    state, reason = draft.status.value, draft.rejection_reason
    return _entry(events.PROJECT_IMPORTED, at, draft, key, actor_id=None, to_state=state, reason=reason)  # by a command


def _entries(draft: Draft, key: str, decided_by: int | None) -> Iterator[dict[str, Any]]:
    pending = Status.PENDING.value
    yield _entry(events.PROJECT_SUBMITTED, draft.submitted_at, draft, key, to_state=pending)
    if draft.decided_at is not None:
        decision = {
            "actor_id": decided_by,
            "from_state": pending,
            "to_state": draft.status.value,
            "reason": draft.rejection_reason,
            "waited_seconds": (draft.decided_at - draft.submitted_at).total_seconds(),
        }
        yield _entry(DECISIONS[draft.status], draft.decided_at, draft, key, **decision)
    if draft.picked is not None:
        live = Status.LIVE.value
        yield _entry(
            events.PROJECT_PICKED, draft.picked[0], draft, key, actor_id=decided_by, from_state=live, to_state=live
        )
