"""Many projects at once, out of the directory and into it: the rules of `flask export` and `flask import`."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import and_, func, select

from directory import events
from directory.db.errors import refusing
from directory.db.paging import as_dict
from directory.errors import Duplicate, Invalid
from directory.extensions import db
from directory.models import AccountStatus, Category, Logo, Project, Review, Role, Status, User, now
from directory.services import audit, turns
from directory.services.accounts.usernames import is_reserved
from directory.services.catalog import categories, category_slugs, own_fields
from directory.services.catalog.fields import FIELDS, OWN_FIELDS, OWNED, filled
from directory.services.data import wholesale
from directory.services.data.wholesale import Draft
from directory.services.identity import Caller
from directory.services.pictures import logos
from directory.services.text.equal_addresses import repository_key, url_key
from directory.services.text.rules import USERNAME

# The fields of a submission, in the order of an export, and the further fields of an export.
WRITABLE = tuple(field.name for field in FIELDS if field.in_export and field in OWNED)
READ_ONLY = tuple(field.name for field in FIELDS if field.in_export and field not in OWNED)
READ_AT_ONCE, READ_WITH_PICTURES = 500, 20
# A transaction holds its categories (SQLite: the database) against other writers, which wait for 1.4 seconds at most.
TAKEN_AT_ONCE, PICTURES_AT_ONCE = 200, 50

LATER = ("submitted_at", "published_at", "updated_at")  # dates that follow created_at
EARLIEST = datetime.min.replace(tzinfo=UTC)
NOWHERE = "imported.invalid"  # RFC 2606: no mail ever gets there

_SOURCES = {
    "category": Category.slug.label("category"),
    "owner": User.username.label("owner"),
    "rejection_reason": Review.reason.label("rejection_reason"),
    "logo": select(Logo.large).where(Logo.digest == Project.logo).scalar_subquery().label("logo"),
}


@dataclass(slots=True)
class Entered:
    """The project of a row, with the key of its repository. The id is 0 until the project is written."""

    title: str
    repository: str | None
    id: int = 0


T = TypeVar("T")
RowOutcome = tuple[Entered, bool] | Invalid  # with whether the row added it
Identity = tuple[int, str]  # an owner, and the key of an address


def given(status: str | None = None, *, pictures: bool = False) -> Iterator[dict[str, Any]]:
    """Each project (of a state) with the fields of WRITABLE and READ_ONLY, in the order of their ids; `logo` is bytes.

    With `pictures` each also has these, in their order, with the `alt` and the bytes of each, `picture`.
    No transaction is held while the reader takes its time: a project that changes meanwhile is given as it is when
    its turn comes, one that is added may be left out, none comes twice.
    """
    columns: list[Any] = [_SOURCES.get(name, getattr(Project, name, None)) for name in (*WRITABLE, *READ_ONLY)]
    columns += [Project.pictures] if pictures else []
    query = select(*columns).join(Category, Category.id == Project.category_id).join(User, User.id == Project.owner_id)
    query = query.outerjoin(Review, and_(turns.CURRENT, ~turns.of_changes()))
    if status is not None:
        query = query.where(Project.status == status)
    query = query.order_by(Project.id).limit(READ_WITH_PICTURES if pictures else READ_AT_ONCE)
    last = 0
    while rows := [as_dict(row) for row in db.session.execute(query.where(Project.id > last))]:
        if pictures:
            _read_pictures(rows)
        if any(row[OWN_FIELDS] for row in rows):
            defined = own_fields.present()
            for row in rows:
                row[OWN_FIELDS] = own_fields.stored(row[OWN_FIELDS], defined)
        db.session.rollback()
        yield from rows
        last = rows[-1]["id"]


def _read_pictures(rows: list[dict[str, Any]]) -> None:
    """Put the words and the bytes of pictures in the place of their addresses."""
    digests = {logos.digest_of(picture["1280"]) for row in rows for picture in row["pictures"]}
    files = dict(db.session.execute(select(Logo.digest, Logo.large).where(Logo.digest.in_(digests))).all())
    for row in rows:
        row["pictures"] = [
            {"alt": picture["alt"], "picture": files[logos.digest_of(picture["1280"])]} for picture in row["pictures"]
        ]


def batches(rows: Iterable[T], pictures_of: Callable[[T], int]) -> Iterator[list[T]]:
    """The rows in lists of at most TAKEN_AT_ONCE, or of fewer that have PICTURES_AT_ONCE pictures or a few more."""
    batch: list[T] = []
    number = 0
    for row in rows:
        batch.append(row)
        number += pictures_of(row)
        if len(batch) >= TAKEN_AT_ONCE or number >= PICTURES_AT_ONCE:
            yield batch
            batch, number = [], 0
    if batch:
        yield batch


def waiting_changes() -> int:
    """The number of live projects whose changes wait for review. An export leaves these changes out."""
    waiting = select(func.count()).where(Review.is_current, turns.of_changes(), Review.outcome.is_(None))
    return db.session.scalars(waiting).one()


def default_owner() -> Caller | None:
    """The oldest active administrator."""
    active = (User.stored_role == Role.ADMIN, User.status == AccountStatus.ACTIVE)
    user = db.session.scalar(select(User).where(*active).order_by(User.created_at, User.id).limit(1))
    return Caller(user.id, user.username, user.role) if user else None


def take(
    rows: Sequence[dict[str, Any]],
    *,
    owner: Caller,
    status: str | None = None,
    create_categories: bool = False,
    create_users: bool = False,
) -> tuple[list[RowOutcome], set[str]]:
    """Submit validated rows: for each its project, or the refusal; and the names of owners without an account.

    A row that names an `owner` becomes that user's, if there is such a user or `create_users` adds one; any other row
    becomes `owner`'s. All get `status`; without it each has its own, else it is pending. A row keeps the dates that it
    has. The log says of each that it was imported, now, and in which state. A row that is a duplicate of a project of
    its owner, or of a row before it, is that project: a second run adds nothing. No webhook is sent. `logo` is what
    `pictures.as_logo` made; each of `pictures` has its `alt` and what `pictures.as_picture` made, `picture`.
    Raises Duplicate if another transaction took such a URL or name in between; then the rows are to be taken again.
    """
    names = {row["owner"] for row in rows if row.get("owner")}
    users = _users(names, create=create_users)
    identities = [(users.get(row.get("owner") or "", owner.id), url_key(row["url"])) for row in rows]
    held = _held(identities)
    wanted = {row["category"] for row, identity in zip(rows, identities, strict=True) if not _same(row, held[identity])}
    category_ids = _lock_categories(wanted, create=create_categories)
    drafts: list[Draft] = []
    added: list[Entered] = []
    taken: list[dict[str, Any]] = []  # the row of each draft
    outcomes: list[RowOutcome] = []
    for row, identity in zip(rows, identities, strict=True):
        if same := _same(row, held[identity]):
            outcomes.append((same, False))
        elif row["category"] not in category_ids:
            outcomes.append(Invalid.field("category", f"There is no category {row['category']!r}."))
        elif (row.get("published_at") or now()) < (row.get("created_at") or EARLIEST):
            outcomes.append(Invalid.field("published_at", "Must not be before created_at."))
        else:
            drafts.append(_draft(row, identity[0], category_ids, status))
            taken.append(row)
            added.append(Entered(row["title"], repository_key(row.get("repository_url"))))
            held[identity].append(added[-1])
            outcomes.append((added[-1], True))
    drafts = wholesale.with_pictures(drafts, taken)
    for entered, project_id in zip(added, wholesale.write(drafts, decided_by=None, imported=True), strict=True):
        entered.id = project_id
    return outcomes, names - users.keys()


def _users(names: set[str], *, create: bool) -> dict[str, int]:
    """The ids of the accounts of these names; with `create` those that are missing are added. Raises Duplicate."""
    query = select(User.username, User.id).where(User.username.in_(names), User.deleted_at.is_(None))
    ids = dict(db.session.execute(query).all()) if names else {}
    for name in sorted(names - ids.keys()) if create else ():
        if USERNAME.fullmatch(name) and not is_reserved(name):
            ids[name] = _add_user(name)
    return ids


def _add_user(name: str) -> int:
    """Add an account that nobody can sign in to until an operator gives it a password. Raises Duplicate."""
    user = User(username=name, email=f"{name}@{NOWHERE}", password_hash="", notify=False)
    db.session.add(user)
    with refusing(uq_users_username=Duplicate(["username"], "This username is taken.")):
        db.session.flush()
    audit.record(events.USER_REGISTERED, by=None, user_id=user.id, to_state=user.role)
    return user.id


def _held(identities: list[Identity]) -> defaultdict[Identity, list[Entered]]:
    """The projects of these owners at these addresses, oldest first."""
    owners, keys = ({identity[place] for identity in identities} for place in (0, 1))
    columns = (Project.owner_id, Project.url_key, Project.title, Project.repository_key, Project.id)
    query = select(*columns).where(Project.owner_id.in_(owners), Project.url_key.in_(keys)).order_by(Project.id)
    held: defaultdict[Identity, list[Entered]] = defaultdict(list)
    for owner_id, key, title, repository, project_id in db.session.execute(query):
        held[owner_id, key].append(Entered(title, repository, project_id))
    return held


def _same(row: dict[str, Any], held: list[Entered]) -> Entered | None:
    """The first of the projects of the row's owner and address that the row is, by the rule of duplicates."""
    repository = repository_key(row.get("repository_url"))
    return next(
        (entry for entry in held if None in {repository, entry.repository} or repository == entry.repository), None
    )


def _draft(row: dict[str, Any], owner_id: int, category_ids: dict[str, int], status: str | None) -> Draft:
    own = Status(row.get("status") or Status.PENDING)
    at, stands = now(), Status(status or own)
    # Nothing happens to a project before it is created.
    created_at = row.get("created_at") or min(row.get(name) or at for name in LATER)
    return Draft(
        owner_id=owner_id,
        category_id=category_ids[row["category"]],
        fields=filled(row),
        status=stands,
        submitted_at=row.get("submitted_at") or created_at,
        decided_at=None if stands is Status.PENDING else at,
        created_at=created_at,
        updated_at=row.get("updated_at"),
        published_at=row.get("published_at"),
        logged_at=at,
        rejection_reason=row.get("rejection_reason") if stands is own is not Status.LIVE else None,
    )


def _lock_categories(wanted: set[str], *, create: bool) -> dict[str, int]:
    """The ids of those of the slugs that are categories, or of all, made where they are missing.

    Their counters are locked here in one order: taken row by row, two imports could wait for each other in a ring.
    """
    named = category_slugs.named(lambda slug: slug.in_(wanted)).subquery("named")
    query = select(named.c.slug, Category.id).join(Category, Category.id == named.c.id).order_by(Category.id)
    ids: dict[str, int] = dict(db.session.execute(query.with_for_update(key_share=True, of=Category)).all())
    for slug in sorted(wanted - ids.keys()) if create else ():
        ids[slug] = categories.add({"slug": slug, "name": slug.replace("-", " ").capitalize()}, by=None).id
    return ids
