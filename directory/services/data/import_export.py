"""Many projects at once, out of the directory and into it: the rules of `flask export` and `flask import`."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select

from directory.errors import Invalid
from directory.extensions import db
from directory.models import AccountStatus, Category, Project, Role, Status, User, now
from directory.services import categories
from directory.services.accounts.identity import Caller
from directory.services.catalog.paging import as_dict
from directory.services.data import wholesale
from directory.services.data.wholesale import Draft
from directory.services.links import url_key

# What a submission says, in the order of an export, and what an export tells besides.
WRITABLE = ("title", "tagline", "description", "url", "category", "repository_url", "logo_url", "tags")
READ_ONLY = (
    "id",
    "slug",
    "status",
    "rejection_reason",
    "upvotes",
    "owner",
    "created_at",
    "updated_at",
    "submitted_at",
    "published_at",
)
READ_AT_ONCE = 500
# A transaction holds its categories (SQLite: the database) against other writers, which wait for 1.4 seconds at most.
TAKEN_AT_ONCE = 200

_SOURCES = {"category": Category.slug.label("category"), "owner": User.username.label("owner")}

Outcome = bool | Invalid


def given(status: str | None = None) -> Iterator[dict[str, Any]]:
    """Each project (of a state) with the fields of WRITABLE and READ_ONLY, in the order of their ids.

    No transaction is held while the reader takes its time: a project that changes meanwhile is given as it is when
    its turn comes, one that is added may be left out, none comes twice.
    """
    columns: list[Any] = [_SOURCES.get(name, getattr(Project, name, None)) for name in (*WRITABLE, *READ_ONLY)]
    query = select(*columns).join(Category, Category.id == Project.category_id).join(User, User.id == Project.owner_id)
    if status is not None:
        query = query.where(Project.status == status)
    query = query.order_by(Project.id).limit(READ_AT_ONCE)
    last = 0
    while rows := [as_dict(row) for row in db.session.execute(query.where(Project.id > last))]:
        db.session.rollback()
        yield from rows
        last = rows[-1]["id"]


def default_owner() -> Caller | None:
    """The oldest active administrator."""
    active = (User.role == Role.ADMIN, User.status == AccountStatus.ACTIVE)
    user = db.session.scalar(select(User).where(*active).order_by(User.created_at, User.id).limit(1))
    return Caller(user.id, user.username, user.role) if user else None


def take(
    rows: Sequence[dict[str, Any]], *, owner: Caller, status: str | None = None, create_categories: bool = False
) -> list[Outcome]:
    """Submit validated rows for `owner`: for each True, or the refusal.

    All get `status`; without it each has its own, else it is pending. The log says of each that `owner` imported it,
    and in which state. A row whose URL the owner has submitted already is False: a second run adds nothing. No webhook
    is sent.
    Raises Duplicate where another transaction took such a URL in between; then the rows are to be taken again.
    """
    keys = [url_key(row["url"]) for row in rows]
    seen = _held(owner, keys)
    wanted = {row["category"] for row, key in zip(rows, keys, strict=True) if key not in seen}
    category_ids = _lock_categories(wanted, create=create_categories)
    drafts: list[Draft] = []
    outcomes: list[Outcome] = []
    for row, key in zip(rows, keys, strict=True):
        if key in seen:
            outcomes.append(False)
        elif row["category"] not in category_ids:
            outcomes.append(Invalid.field("category", f"There is no category {row['category']!r}."))
        else:
            drafts.append(_draft(row, owner, category_ids, status))
            outcomes.append(True)
            seen.add(key)
    wholesale.write(drafts, decided_by=None, imported=True)
    return outcomes


def _held(owner: Caller, keys: list[str]) -> set[str]:
    query = select(Project.url_key).where(Project.owner_id == owner.id, Project.url_key.in_(keys))
    return set(db.session.scalars(query))


def _draft(row: dict[str, Any], owner: Caller, category_ids: dict[str, int], status: str | None) -> Draft:
    at, stands = now(), Status(status or row.get("status") or Status.PENDING)
    return Draft(
        owner_id=owner.id,
        category_id=category_ids[row["category"]],
        title=row["title"],
        tagline=row["tagline"],
        description=row.get("description", ""),
        url=row["url"],
        repository_url=row.get("repository_url"),
        logo_url=row.get("logo_url"),
        tags=row.get("tags", []),
        status=stands,
        submitted_at=at,
        decided_at=None if stands is Status.PENDING else at,
        rejection_reason=row.get("rejection_reason") if stands is Status.REJECTED else None,
    )


def _lock_categories(wanted: set[str], *, create: bool) -> dict[str, int]:
    """The ids of those of the slugs that are categories, or of all, made where they are missing.

    Their counters are locked here in one order: taken row by row, two imports could wait for each other in a ring.
    """
    query = select(Category.slug, Category.id).where(Category.slug.in_(wanted)).order_by(Category.id)
    ids = dict(db.session.execute(query.with_for_update(key_share=True)).all())
    for slug in sorted(wanted - ids.keys()) if create else ():
        ids[slug] = categories.add({"slug": slug, "name": slug.replace("-", " ").capitalize()}).id
    return ids
