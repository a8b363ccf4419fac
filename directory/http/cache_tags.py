"""Cache tags: what a public answer depends on. A route declares them, and the response cache reads them."""

from typing import NamedTuple

CREDENTIALS = ("Cookie", "Authorization")  # the request headers by which answers vary


class CacheTags(NamedTuple):
    """The votes that an answer depends on.

    Decisions, edits and the like change any answer, so they need no tag. `projects` are the projects whose votes it
    shows. A page in the order of votes also has the lowest and highest number of votes that it shows: another project
    gets onto that page, or past it, only by a vote that moves it between these two or across them.
    """

    projects: tuple[int, ...]
    lowest: int | None = None
    highest: int | None = None
