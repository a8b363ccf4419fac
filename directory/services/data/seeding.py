"""Putting the demo directory into the database: the rows of its story that are not there yet."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from directory.db.errors import refusing
from directory.errors import Duplicate
from directory.extensions import db
from directory.models import Audience, Category, FieldDefinition, Project, Status, User
from directory.services import bulk
from directory.services.accounts.accounts import TAKEN
from directory.services.catalog import category_slugs
from directory.services.catalog.fields import OWN_FIELDS, filled
from directory.services.data import under_way, wholesale
from directory.services.data.demo import Person, Story, Submission
from directory.services.text.equal_addresses import url_key


@dataclass(slots=True)
class Planted:
    """The numbers of added rows, and the accounts whose passwords are valid."""

    categories: int
    people: list[Person]
    statuses: list[Status]
    votes: int


def is_empty() -> bool:
    """Whether there is neither a project nor a user."""
    return not has_projects() and db.session.scalar(select(User.id).limit(1)) is None


def has_projects() -> bool:
    """Whether there is any project."""
    return db.session.scalar(select(Project.id).limit(1)) is not None


def plant(story: Story) -> Planted:
    """Add what of the story is not there yet; accounts and categories that are there stay as they are."""
    bulk.begin()
    category_ids, new_categories = add_categories(story.categories)
    without: dict[str, Any] = {} if _add_fields(story.fields) else {OWN_FIELDS: {}}
    new_people = _add_people(story.people)
    new = _not_there(story.submissions)
    first = bulk.reserve(Project, len(new))
    numbered = list(enumerate(new, first))
    admin = story.people[0]
    decided_by = admin.id if admin in new_people else None  # another account of that name decided nothing
    drafts = [_past(s, n, category_ids, without) for n, s in numbered]
    drafts = wholesale.with_pictures(drafts, [{"logo": s.logo, "pictures": s.pictures} for s in new])
    wholesale.write(drafts, decided_by=decided_by)
    votes = [(voter.id, number, at) for number, s in numbered for voter, at in s.votes]
    wholesale.write_votes(votes)
    under_way.plant(numbered, admin if decided_by else None)
    return Planted(new_categories, new_people, [s.status for s in new], len(votes))


def add_categories(wanted: list[dict[str, str]]) -> tuple[dict[str, int], int]:
    """The ids of the categories by slug, those that are missing added, and how many these were."""
    there = category_slugs.ids([category["slug"] for category in wanted])
    missing = [Category(**category) for category in wanted if category["slug"] not in there]
    db.session.add_all(missing)
    db.session.flush()  # for their ids
    return there | {category.slug: category.id for category in missing}, len(missing)


def _add_fields(wanted: list[dict[str, Any]]) -> bool:
    """Add own fields, which lists can be narrowed by, unless there are some or were; whether they are added."""
    if db.session.scalar(select(FieldDefinition.id).limit(1)) is not None:
        return False
    flags = {**dict.fromkeys(("required", "search", "retired"), False), "material": True, "facet": True}
    about = {**flags, "audience": Audience.PUBLIC, "categories": None, "version": 1}
    rows = [FieldDefinition(**about, **field, place=place, stamp=place) for place, field in enumerate(wanted, 1)]
    db.session.add_all(rows)
    db.session.flush()
    return True


def _add_people(people: list[Person]) -> list[Person]:
    """Add the accounts that are missing and return these; all of them have their ids then."""
    query = select(User.username, User.id).where(User.username.in_([person.username for person in people]))
    there = dict(db.session.execute(query).all())
    new = [person for person in people if person.username not in there]
    users = [
        User(
            username=person.username,
            email=f"{person.username}@example.org",
            password_hash=person.password_hash,
            role=person.role,
            created_at=person.joined,
        )
        for person in new
    ]
    db.session.add_all(users)
    with refusing(uq_users_username=Duplicate((), TAKEN), uq_users_email=Duplicate((), TAKEN)):
        db.session.flush()  # for their ids
    ids = there | {user.username: user.id for user in users}
    for person in people:
        person.id = ids[person.username]
    return new


def _not_there(submissions: list[Submission]) -> list[Submission]:
    owners = {submission.owner.id for submission in submissions}
    query = select(Project.owner_id, Project.url_key).where(Project.owner_id.in_(owners))
    there = {(owner, key) for owner, key in db.session.execute(query)}
    return [s for s in submissions if (s.owner.id, url_key(s.fields["url"])) not in there]


def _past(
    submission: Submission, number: int, category_ids: dict[str, int], without: dict[str, Any]
) -> wholesale.Draft:
    return wholesale.Draft(
        id=number,
        owner_id=submission.owner.id,
        category_id=category_ids[submission.fields["category"]],
        fields=filled({**submission.fields, **without}),
        status=submission.status,
        upvotes=len(submission.votes),
        submitted_at=submission.submitted_at,
        decided_at=submission.decided_at,
        rejection_reason=submission.reason,
        picked=(submission.picked_at, submission.fields["pick"]) if submission.picked_at else None,
    )
