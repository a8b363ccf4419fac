"""The story behind the demo directory: which people join, submit, are approved or rejected, and vote, and when.

Pure: nothing here touches the database. The projects are real, the people and the pictures are invented. These are
drawn by bench/drawings.py, once, and stand in demo.zip.
"""

import json
import random
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from directory.models import Role, Status, now
from directory.services.accounts.passwords import hash_password
from directory.services.pictures.pictures import MadePicture
from directory.services.text.rules import slugify

DATA = Path(__file__).resolve().parents[2] / "data"
DRAWN = DATA / "demo.zip"
PICTURE = (640, 400)  # pixels of a picture: so small it needs no second size
ADMIN = "admin"
PENDING = 8
REASONS = (
    "The description does not say what sets this apart from the others in its category.",
    "Please write the tagline as what the project does, not as an advertisement.",
    "This looks like the page of a company. Submit the page of the project itself.",
    "The tags do not fit. Choose those under which somebody would look for it.",
)

# Days before now.
FIRST_SIGNUP, LAST_SIGNUP = 300.0, 4.0
FIRST_SUBMISSION, LAST_DECIDED_SUBMISSION, LAST_SUBMISSION = 280.0, 3.0, 0.05
LONGEST_WAIT = 2.5
OFTENER = 2.2  # the larger, the more of the projects came lately
EXPONENT, FLATTER = 0.7, 0.54  # of Zipf's law, and of so few projects
LUCK = (0.9, 1.45)  # by which the exponent of a project differs
KNOWN_AFTER = timedelta(days=4)  # a project has half of the votes that it would have after a long time
JUST_NOW = (timedelta(hours=1), timedelta(hours=9))  # since the latest projects are live: two of the last day
PICKS, PICK_EVERY = 6, timedelta(days=4, hours=5)
LOGO_EVERY = 10  # the projects of which one has no logo
SHOWN = 2  # people whose password is shown; the others have none
VOTERS = 156  # people who only vote, named by a given name and a letter
GIVEN = ("ada", "bela", "chika", "dilan", "emre", "fay", "gil", "hana", "ivo", "jun", "kofi", "lena", "milo")


@dataclass(slots=True)
class Person:
    """An account to create: its name, its age, and a random password, which is hashed if it is shown."""

    username: str
    role: Role
    joined: datetime
    password: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    password_hash: str = ""
    id: int = 0


@dataclass(slots=True)
class Submission:
    """A project to be: its fields, its owner, and what became of it. Each picture has `alt` and `picture`.

    `picked_at` is when it was picked; the words are those of its fields.
    """

    fields: dict[str, Any]
    owner: Person
    status: Status
    submitted_at: datetime
    decided_at: datetime | None
    reason: str | None
    votes: list[tuple[Person, datetime]] = field(default_factory=list)
    logo: tuple[bytes, bytes] | None = None
    pictures: list[dict[str, Any]] = field(default_factory=list)
    picked_at: datetime | None = None


@dataclass(slots=True)
class Story:
    """All that the demo directory will hold. `people` begins with its administrator."""

    categories: list[dict[str, str]]
    fields: list[dict[str, Any]]
    people: list[Person]
    submissions: list[Submission]


def data(name: str) -> Any:
    """The content of a file of the data folder, by its name without `.json`."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def compose(seed: int) -> Story:
    """The story as of now, the same for the same seed but for its passwords.

    It hashes, so it does not belong in a transaction.
    """
    demo = data("demo")
    rng, at = random.Random(seed), now()  # noqa: S311 (a story, no secret)
    people = _people(demo["people"], rng, at)
    submissions = _submissions(demo["projects"], people[1:], rng, at)
    people += _voters(rng, at)
    live = [s for s in submissions if s.status is Status.LIVE]
    _make_new(live, at)
    _vote(live, people[1:], rng, at)
    submissions.sort(key=lambda submission: submission.submitted_at)
    _pick(live, at)
    for person in people[:SHOWN]:
        person.password_hash = hash_password(person.password)
    with ZipFile(DRAWN) as drawn:
        for n, submission in enumerate(submissions):
            if n % LOGO_EVERY:
                small, large = map(drawn.read, logo_names(submission.fields["title"]))
                submission.logo = small, large
            for picture in submission.fields.get("pictures", ()):
                file = drawn.read(picture_name(picture))
                submission.pictures.append({"alt": picture["alt"], "picture": MadePicture((file, file), *PICTURE)})
    return Story(demo["categories"], demo["fields"], people, submissions)


def logo_names(title: str) -> tuple[str, str]:
    """The files of the logo of a project, the small one first."""
    return f"{slugify(title)}-64.webp", f"{slugify(title)}-256.webp"


def picture_name(picture: dict[str, str]) -> str:
    """The file of a picture of demo.json."""
    return f"{picture['drawing']}-{picture['colour'].removeprefix('#')}.webp"


def _make_new(live: list[Submission], at: datetime) -> None:
    """Have the projects that went live last be live since JUST_NOW."""
    latest = sorted(live, key=lambda submission: submission.decided_at or at)[-len(JUST_NOW) :]
    for submission, ago in zip(reversed(latest), JUST_NOW, strict=True):
        submission.submitted_at, submission.decided_at = at - ago - timedelta(hours=7), at - ago


def _pick(live: list[Submission], at: datetime) -> None:
    """Pick the oldest of the projects that have words for it, one every few days."""
    with_words = [submission for submission in live if "pick" in submission.fields][:PICKS]
    for n, submission in enumerate(reversed(with_words)):
        submission.picked_at = max(at - n * PICK_EVERY - timedelta(hours=3), submission.decided_at or at)


def _people(names: list[str], rng: random.Random, at: datetime) -> list[Person]:
    step = (FIRST_SIGNUP - LAST_SIGNUP) / len(names)
    days = [FIRST_SIGNUP - step * (n + rng.random()) for n in range(len(names))]
    joined = [at - timedelta(days=ago) for ago in days]
    admin = Person(ADMIN, Role.ADMIN, at - timedelta(days=FIRST_SIGNUP))
    return [admin, *(Person(name, Role.MEMBER, since) for name, since in zip(names, joined, strict=True))]


def _voters(rng: random.Random, at: datetime) -> list[Person]:
    names = [f"{GIVEN[n % len(GIVEN)]}_{chr(ord('a') + n // len(GIVEN))}" for n in range(VOTERS)]
    return [Person(name, Role.MEMBER, at - timedelta(days=rng.uniform(LAST_SIGNUP, FIRST_SIGNUP))) for name in names]


def _submissions(
    projects: list[dict[str, Any]], members: list[Person], rng: random.Random, at: datetime
) -> list[Submission]:
    """The projects in the order of their submission, which is not that of the data."""
    shuffled = rng.sample(projects, len(projects))
    span = FIRST_SUBMISSION - LAST_DECIDED_SUBMISSION
    # Towards the present they come more often.
    decided = [LAST_DECIDED_SUBMISSION + span * rng.random() ** OFTENER for _ in shuffled[PENDING:]]
    waiting = [rng.uniform(LAST_SUBMISSION, 2 * LAST_DECIDED_SUBMISSION) for _ in shuffled[:PENDING]]
    rejected = dict(zip(rng.sample(range(len(decided)), len(REASONS)), REASONS, strict=True))
    submissions = [
        _submission(fields, members, at - timedelta(days=ago), rng, reason=rejected.get(n))
        for n, (fields, ago) in enumerate(zip(shuffled[PENDING:], decided, strict=True))
    ]
    submissions += [
        _submission(fields, members, at - timedelta(days=ago), rng, pending=True)
        for fields, ago in zip(shuffled[:PENDING], waiting, strict=True)
    ]
    return sorted(submissions, key=lambda submission: submission.submitted_at)


def _submission(
    fields: dict[str, Any],
    members: list[Person],
    submitted: datetime,
    rng: random.Random,
    *,
    reason: str | None = None,
    pending: bool = False,
) -> Submission:
    # The first member is there from before the first submission.
    owner = rng.choice([members[0], *(member for member in members[1:] if member.joined < submitted)])
    wait = min(timedelta(hours=rng.lognormvariate(2.2, 0.9)), timedelta(days=LONGEST_WAIT))
    decided = None if pending else submitted + wait
    status = Status.PENDING if pending else Status.REJECTED if reason else Status.LIVE
    return Submission(fields, owner, status, submitted, decided, reason)


def _vote(live: list[Submission], members: list[Person], rng: random.Random, at: datetime) -> None:
    """Give projects votes by Zipf's law and by luck. New projects get few, and picked ones tend to get many."""
    ranked = sorted(live, key=lambda submission: rng.random() * (0.4 if "pick" in submission.fields else 1))
    for submission, weight in zip(ranked, weights(len(live), FLATTER), strict=True):
        age = at - (submission.decided_at or at)
        share = weight ** rng.uniform(*LUCK) * (age / (age + KNOWN_AFTER))
        for voter in rng.sample(members, rng.randint(2, 7) + round((len(members) - 7) * share)):
            since = max(submission.decided_at or at, voter.joined)
            submission.votes.append((voter, since + (at - since) * rng.random() ** 2))


def weights(size: int, exponent: float = EXPONENT) -> Iterator[float]:
    """The weight of each rank by Zipf's law, the first one's being 1."""
    return (rank**-exponent for rank in range(1, size + 1))
