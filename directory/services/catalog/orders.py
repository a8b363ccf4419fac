"""The orders of the lists of projects, and what each depends on.

The statements of the lists, the parameters of the routes, the pages and the response cache take the orders from here.
"""

from dataclasses import dataclass
from datetime import datetime
from math import log10
from typing import Any

from sqlalchemy import JSON, Column, Integer, Text, column

from directory.db.paging import Sort
from directory.models import Project, VoteRanking

projects, vote_rankings = Project.__table__, VoteRanking.__table__
P, S = projects.c, vote_rankings.c

VOTED = {"upvotes", "hot"}  # the columns of a project that a vote changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Sort):
    """An order of projects. Its keys are columns, because lists select them by name from subqueries.

    `by_votes` says whether votes change it: then they change pages that do not show the project, and a list of one
    state is read from the vote rankings, which have its indexes. Only administrators use an order that is not
    `is_public`. Neither has a default, so that a new order has to say both.
    """

    by_votes: bool
    is_public: bool

    def __post_init__(self) -> None:
        """Raise ValueError for keys by which a list cannot be ordered, and for a wrong `by_votes`."""
        for key in self.keys:
            if why := _refusal(key):
                raise ValueError(f"{key} cannot be a key of an order of projects: {why}.")
        *names, last = [key.name for key in self.keys] or [""]
        if last != "id":
            raise ValueError("The last key of an order of projects must be the id: the others may be equal.")
        if self.by_votes != bool(VOTED & {*names}):
            raise ValueError(f"An order of projects is by_votes if {' or '.join(sorted(VOTED))} is a key, else not.")
        if self.by_votes and (missing := {*names} - {*S.keys()}):
            raise ValueError(f"An order by votes is read from {vote_rankings}, which lacks {', '.join(missing)}.")

    @property
    def in_state(self) -> Sort:
        """The order by the columns of the table that has its indexes for the projects of one state."""
        if not self.by_votes:
            return self
        return Sort((*(S[key.name] for key in self.keys[:-1]), S.project_id), self.descending)


def _refusal(key: Any) -> str:
    """Why lists cannot be ordered by a key; empty if they can."""
    if not isinstance(key, Column) or key.table is not projects:
        return "it is not a column of the table projects"
    if key.nullable:
        return "it may be null, and a comparison with null finds no project"
    return "cursors hold no JSON, and no text of any length" if isinstance(key.type, JSON | Text) else ""


WEEK = 7 * 24 * 3600.0


def hot(upvotes: int, listed_at: datetime) -> float:
    """log10(upvotes + 1) + listed_at in weeks: ten times the votes are worth one week.

    It does not depend on the current time, so a rank changes only with votes, and positions in the order stay valid.
    """
    return log10(upvotes + 1) + listed_at.timestamp() / WEEK


SORTS = {
    "newest": Order((P.listed_at, P.id), descending=True, by_votes=False, is_public=True),
    "popular": Order((P.hot, P.id), descending=True, by_votes=True, is_public=True),
    "upvotes": Order((P.upvotes, P.id), descending=True, by_votes=True, is_public=True),
    "oldest": Order((P.submitted_at, P.id), descending=False, by_votes=False, is_public=False),
}
PUBLIC = tuple(name for name, order in SORTS.items() if order.is_public)
PICKED = Sort((P.picked_at, P.id), descending=True)  # of a list of picks: of other projects the key is null
BEST = Sort((column("rank", Integer), P.upvotes, P.id), descending=True)  # of the rows of search.ranked


def named(sort: str) -> Sort:
    """The order of that name; "best" (best match first) requires a query, "picked" the filter of that name."""
    return {"best": BEST, "picked": PICKED}.get(sort) or SORTS[sort]


def is_without_votes(sort: str) -> bool:
    """Whether votes leave the order of that name as it is."""
    return sort == "picked" or (sort in SORTS and not SORTS[sort].by_votes)


def keys() -> dict[str, Column[Any]]:
    """The columns that are keys of orders, by name, for a list that is read from a subquery."""
    return {key.name: key for order in (*SORTS.values(), PICKED) for key in order.keys}
