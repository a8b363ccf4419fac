"""The cache policy of a route's operation, which tells the response cache how to treat its answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from marshmallow import Schema

from directory.services.accounts.sessions import Credential

CREDENTIALS = ("Cookie", "Authorization")  # the request headers in Vary


class CacheTags(NamedTuple):
    """The votes that an answer depends on.

    Decisions, edits and the like change any answer, so they need no tag. `projects` are the projects whose votes it
    shows. A page in the order of votes also has the lowest and highest number of votes that it shows: another project
    gets onto that page, or past it, only by a vote that moves it between these two or across them. If the page shows
    one category alone, `category_id` names it: a vote for a project of another category does not change the order.
    """

    projects: tuple[int, ...]
    lowest: int | None = None
    highest: int | None = None
    category_id: int | None = None


Loaded = tuple[int | None, Any]


class LoadMany(Protocol):
    """Loads an object for each credential (None for an anonymous reader) and id.

    It returns the reader's id and the view's result. The result is None if the view would raise, or with `quick` would
    take too long. An item is None if the reader cannot be identified by this statement alone.
    """

    def __call__(self, asked: list[tuple[Credential | None, int]], *, quick: bool) -> Sequence[Loaded | None]: ...


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """The properties of a route that the response cache needs.

    `tags` is a function of the data and the query, and returns what a public answer depends on; without it, or where it
    returns None, the answer depends on all that is in the database. `projects` is a function of the data of a public
    answer that depends on the caller: it returns the projects in it, which have the schema `project`. For a signed-in
    caller `has_upvoted` of each differs, and its owner and administrators see the members that `readers.seen_by_owner`
    returns; nothing else differs. `load_many` is for a route whose path ends with an id. With `constant` all anonymous
    callers get the same answer for as long as the process runs.
    """

    tags: Callable[[Any, dict[str, Any]], CacheTags | None] | None = None
    projects: Callable[[Any], list[dict[str, Any]]] | None = None
    project: Schema | None = None
    load_many: LoadMany | None = None
    constant: bool = False


NO_POLICY = CachePolicy()
