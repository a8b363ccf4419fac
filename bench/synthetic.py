"""Made-up directories of any size, to try and to measure the service with.

A plan settles in a few bytes a project what becomes of each; the rows are composed chunk by chunk from it. A chunk's
own random numbers come from the seed and its place alone, so that it can be composed again when its transaction has
to be run again, and no more than one chunk is ever held.
"""

import random
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from bench import zipf
from bench.names import Composer
from directory.db.statements import Row
from directory.errors import Invalid
from directory.models import Project, Role, Status, User, now
from directory.services import bulk
from directory.services.catalog.fields import filled
from directory.services.data import demo, wholesale
from directory.services.data.seeding import add_categories
from directory.services.data.wholesale import Draft

USERS_AT_ONCE, PROJECTS_AT_ONCE, VOTES_AT_ONCE = 10_000, 5_000, 50_000
PENDING, REJECTED = 0.07, 0.03
USER = ("id", "username", "email", "password_hash", "role", "status", "created_at")

DAY = 86_400.0  # seconds, as is all time here: votes are many, and floats much faster than timedeltas
SPAN = 730 * DAY  # from the first submission to now
SIGNUPS_BEFORE = 90 * DAY  # that the first users join before the first submission
INTEREST = 20 * DAY  # after its publication, in which a project gets most of its votes


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is wanted."""

    projects: int
    users: int
    votes: int


class Step(NamedTuple):
    """One transaction's work, and how many rows of the sizes it adds."""

    rows: int
    work: Callable[[], None]


class Plan:
    """The state and votes of each project, and when each user joins. Raises Invalid."""

    def __init__(self, sizes: Sizes, *, seed: int, password_hash: str) -> None:
        self.sizes, self.seed, self.password_hash = sizes, seed, password_hash
        self.until = now().timestamp()
        rng = random.Random(seed)
        self.statuses = statuses(sizes.projects, rng)
        self.votes = _votes(self.statuses, sizes, rng)
        self.first_user = self.first_project = 0
        self.category_ids: list[int] = []

    def steps(self) -> Iterator[Step]:
        """The transactions to run, in order. Each leaves counters, log and search index exact."""
        yield Step(0, self._prepare)
        for chunk in _ranges(self.sizes.users, USERS_AT_ONCE):
            yield Step(len(chunk), partial(self._add_users, chunk))
        for chunk in _ranges(self.sizes.projects, PROJECTS_AT_ONCE):
            rows = len(chunk) + sum(self.votes[chunk.start : chunk.stop])
            yield Step(rows, partial(self._add_projects, chunk))
        yield Step(0, bulk.analyse)

    def _prepare(self) -> None:
        categories = demo.data("demo")["categories"]
        by_slug, _ = add_categories(categories)
        self.category_ids = [by_slug[category["slug"]] for category in categories]
        self.first_user = bulk.reserve(User, self.sizes.users)
        self.first_project = bulk.reserve(Project, self.sizes.projects)

    def _add_users(self, numbers: range) -> None:
        bulk.begin()
        composer = Composer(f"{self.seed}/users/{numbers.start}")
        bulk.load(User, USER, (self._user(number, composer) for number in numbers))

    def _user(self, number: int, composer: Composer) -> Row:
        user_id = self.first_user + number
        name = composer.username(user_id)
        joined = _instant(self._joined(number))
        return (user_id, name, f"{name}@example.org", self.password_hash, Role.MEMBER.value, "active", joined)

    def _joined(self, number: int) -> float:
        """When a user joins: one after the other, evenly."""
        span = SPAN + SIGNUPS_BEFORE
        return self.until - span + span * number / self.sizes.users

    def _members(self, at: float) -> int:
        """How many have joined by then."""
        joined = 1 - (self.until - at) / (SPAN + SIGNUPS_BEFORE)
        return max(1, int(joined * self.sizes.users))

    def _add_projects(self, numbers: range) -> None:
        bulk.begin()
        composer = Composer(f"{self.seed}/projects/{numbers.start}")
        weights = zipf.cumulative(len(self.category_ids))
        categories = composer.rng.choices(self.category_ids, cum_weights=weights, k=len(numbers))
        projects = [self._project(n, category, composer) for n, category in zip(numbers, categories, strict=True)]
        wholesale.write(projects, decided_by=None)
        votes = (vote for project in projects for vote in self._votes_for(project, composer.rng))
        for chunk in bulk.chunks(votes, VOTES_AT_ONCE):
            wholesale.write_votes(sorted(chunk))  # by user, as the key's index is

    def _project(self, number: int, category_id: int, composer: Composer) -> Draft:
        rng, status = composer.rng, tuple(Status)[self.statuses[number]]
        submitted = self.until - SPAN + SPAN * (number + rng.random()) / self.sizes.projects
        waited = min(3600 * rng.lognormvariate(2.2, 0.9), (self.until - submitted) * 0.9)
        owner = int(self._members(submitted) * rng.random() ** 2)  # some submit more than others
        project_id, title = self.first_project + number, composer.title()
        name = f"{title.lower().replace(' ', '-')}-{project_id}"
        return Draft(
            id=project_id,
            owner_id=self.first_user + owner,
            category_id=category_id,
            fields=filled(
                {
                    "title": title,
                    "tagline": composer.tagline(),
                    "description": composer.description(title),
                    "url": f"https://{name}.example.org/",
                    "repository_url": f"https://git.example.org/{name}" if rng.random() < 0.7 else None,
                    "tags": composer.tags(),
                }
            ),
            status=status,
            upvotes=self.votes[number],
            submitted_at=_instant(submitted),
            decided_at=None if status is Status.PENDING else _instant(submitted + waited),
            rejection_reason=composer.one(demo.REASONS) if status is Status.REJECTED else None,
        )

    def _votes_for(self, project: Draft, rng: random.Random) -> Iterator[Row]:
        """Each vote by another user, soon after the publication, or after the user joined where that is later."""
        if not project.upvotes or project.decided_at is None:
            return
        published = project.decided_at.timestamp()
        members = self._members(published)
        voters = members if 2 * project.upvotes <= members else self.sizes.users
        for voter in rng.sample(range(voters), project.upvotes):
            since = max(published, self._joined(voter))
            after = min(rng.expovariate(1 / INTEREST), (self.until - since) * rng.random())
            yield (self.first_user + voter, project.id, _instant(since + after))


def statuses(size: int, rng: random.Random) -> bytearray:
    """The state of each of `size` projects, the oldest first, as its place in Status."""
    found = bytearray(size)
    pending, rejected = (bytes([list(Status).index(status)])[0] for status in (Status.PENDING, Status.REJECTED))
    for _ in range(round(size * PENDING)):
        # Waiting projects are mostly young: the root of a root of a root leans far to the end.
        number = int(size * rng.random() ** (1 / 8))
        while found[number]:
            number = int(size * rng.random() ** (1 / 8))
        found[number] = pending
    undecided = [number for number, status in enumerate(found) if not status]
    for number in rng.sample(undecided, round(size * REJECTED)):
        found[number] = rejected
    return found


def _votes(states: bytearray, sizes: Sizes, rng: random.Random) -> "array[int]":
    """The number of votes of each project: Zipf's law over the live ones in a random order."""
    live = array("I", (number for number, status in enumerate(states) if not status))
    if sizes.votes > len(live) * sizes.users:
        reason = f"{len(live):,} live projects and {sizes.users:,} users allow at most {len(live) * sizes.users:,}"
        raise Invalid.field("votes", f"{reason}.")
    rng.shuffle(live)
    votes = array("I", [0]) * len(states)
    for number, share in zip(live, zipf.shares(sizes.votes, len(live), sizes.users), strict=True):
        votes[number] = share
    return votes


def _ranges(size: int, step: int) -> Iterator[range]:
    return (range(start, min(start + step, size)) for start in range(0, size, step))


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
