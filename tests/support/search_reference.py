"""A directory as plain values, and what a search finds in it: by a look at each project, with no database."""

import random
import re
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from directory.models import Status
from directory.services.catalog import search
from directory.services.catalog.fields import filled
from directory.services.catalog.filters import Filters
from directory.services.catalog.little_words import without
from directory.services.catalog.orders import hot
from directory.services.catalog.search_language import NONE
from directory.services.catalog.search_words import joined_word, joined_words, whole, words
from directory.services.data import wholesale

VOCABULARY = ("ab", "abc", "abd", "cd", "x", "node.js", "node", "js")
TITLED = (17, 28)
START = datetime(2026, 1, 1, tzinfo=UTC)
Same = Mapping[str, Collection[str]]  # of a word, those that mean the same


def asked(query: str) -> list[str]:
    """The words of a query, each once: without those that mean nothing, unless it has no others."""
    words = list(dict.fromkeys(query.split()))
    return without(words) or words


def same_as(groups: str) -> Same:
    """For each word of lines of synonyms the others of its lines, also where it is typed without its dots."""
    lines = [[word.strip() for word in line.split(",")] for line in groups.splitlines()]
    same: dict[str, set[str]] = {}
    for line in lines:
        for word in line:
            for typed in (word, word.replace(".", "")):
                same.setdefault(typed, set()).update({*line} - {word})
    return same


class Made(NamedTuple):
    """A project as the reference sees it, which knows of no database."""

    id: int
    status: str
    upvotes: int
    at: datetime
    title: str
    brief: str
    description: str
    category: str
    tags: tuple[str, ...] = ()
    own: Mapping[str, Any] = {}

    def matches(self, query: str, part: str, *, beginnings: bool, same: Same = NONE) -> bool:
        """Whether all words of a query are in a part, or for each one that means the same."""
        texts = [self.title]
        texts += [] if part == "title" else [self.brief, *self.tags]
        texts += [self.description] if part not in {"title", "brief"} else []
        groups = [(unit, *same.get(unit, ())) for unit in asked(query)]
        return all(any(self._has(texts, unit, beginnings=beginnings) for unit in units) for units in groups)

    def _has(self, texts: list[str], unit: str, *, beginnings: bool) -> bool:
        has = {*words(" ".join(texts)), *joined_words(self.title)}
        has |= {*joined_words(self.brief)} if self.brief in texts else set()

        def there(word: str) -> bool:
            if word in has or not beginnings or len(word) == 1:
                return word in has
            return joined_word(word) in has or any(each.startswith(word) for each in has)

        if "." not in unit:
            return there(unit)
        return there(unit.replace(".", "")) or any(
            _are_neighbours(re.findall("[a-z]+", text), unit.split("."), beginnings=beginnings) for text in texts
        )

    def rank(self, query: str, same: Same = NONE) -> int | None:
        """How well it matches, as the contract says."""
        if not self.matches(query, "all", beginnings=True):
            return -1 if self.matches(query, "all", beginnings=True, same=same) else None
        if whole(self.title) == whole(query):
            return 6 if self.title == query else 5
        steps = [("title", False), ("brief", False), ("title", True), ("brief", True)]
        reached = [self.matches(query, part, beginnings=beginnings) for part, beginnings in steps]
        return 4 - reached.index(True) if True in reached else 0


def _are_neighbours(text: list[str], parts: list[str], *, beginnings: bool) -> bool:
    """Whether the parts stand next to each other in a text; of the last one its beginning may be enough."""
    *first, last = parts
    return any(
        text[at : at + len(first)] == first
        and (text[at + len(first)] == last or (beginnings and text[at + len(first)].startswith(last)))
        for at in range(len(text) - len(first))
    )


def expected(made: list[Made], filters: Filters, sort: str, same: Same = NONE) -> list[int]:
    """The ids of a whole list, by a look at each project."""
    query = filters.q or ""
    chosen = [one for one in made if filters.status in {None, one.status} and filters.category in {None, one.category}]
    if filters.published is not None:
        chosen = [one for one in chosen if one.status == "live" and filters.published in spelled(one.at.date())]
    tagged = {*(filters.tag.split(",") if filters.tag else ())}
    chosen = [one for one in chosen if (not query or one.rank(query, same) is not None) and tagged <= {*one.tags}]
    keys: dict[str, Any] = {
        "newest": lambda one: (one.at, one.id),
        "upvotes": lambda one: (one.upvotes, one.id),
        "popular": lambda one: (hot(one.upvotes, one.at), one.id),
        "best": lambda one: (one.rank(query, same), one.upvotes, one.id),
        "oldest": lambda one: (one.at, one.id),
    }
    if sort == "best":
        chosen = sorted(chosen, key=keys["upvotes"], reverse=True)[: search.MOST]
    return [one.id for one in sorted(chosen, key=keys[sort], reverse=sort != "oldest")]


def spelled(day: date) -> set[str]:
    """The periods that contain a day, as GNU date and strftime write them."""
    return {f"{day:%Y-%m-%d}", f"{day:%G-W%V}", f"{day:%Y-%m}", f"{day:%Y}"}


def written(made: list[Made], owner: int, categories: dict[str, int]) -> None:
    """Add the projects as an import does."""
    drafts = [
        wholesale.Draft(
            id=one.id, owner_id=owner, category_id=categories[one.category], status=Status(one.status),
            upvotes=one.upvotes, submitted_at=one.at,
            fields=filled(
                {
                    "title": one.title, "tagline": one.brief, "description": one.description,
                    "url": f"https://example.org/{one.id}", "tags": list(one.tags),
                    "fields": dict(one.own),
                }
            ),
            decided_at=None if one.status == "pending" else one.at,
        )
        for one in made
    ]  # fmt: skip
    wholesale.write(drafts, decided_by=None)


def made_up(rng: random.Random, size: int) -> list[Made]:
    """Projects of few words, so that many match and all ranks occur."""
    common = rng.choice(VOCABULARY)

    def text(most: int) -> str:
        return " ".join(rng.choice(VOCABULARY) for _ in range(rng.randint(0, most)))

    return [
        Made(
            id=1000 + n,
            status=rng.choices(["live", "pending"], [8, 1])[0],
            upvotes=int(rng.paretovariate(0.7)) % 40,
            at=START + timedelta(hours=rng.randrange(size)),
            title=rng.choice(VOCABULARY) if rng.random() < 0.2 else f"zz {text(2)}",
            brief=f"yy {text(2)}",
            description=f"{text(3)} {common if rng.random() < 0.7 else ''} ww",
            category=rng.choice(["tools", "games"]),
        )
        for n in range(size)
    ]


def listed(matching: int, size: int) -> list[Made]:
    """Projects of which one in `matching` has a word in its description, and the two most voted in their titles."""
    return [
        Made(
            id=1000 + n,
            status="pending" if n % 10 == 9 else "live",
            upvotes=2000 - n if n in TITLED else n * 7919 % 1000,
            at=START + timedelta(hours=n),
            title="common" if n in TITLED else "other",
            brief="thing",
            description="common words" if n % matching == 0 else "words",
            category="tools",
        )
        for n in range(size)
    ]
