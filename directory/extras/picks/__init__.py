"""Picks: live projects that reviewers show first, each with a line that says why.

The columns, the member `picked` and the lists of picks are the core's.
"""

from directory.extras import Extra, Slot
from directory.extras.picks import pages, routes

extra = Extra(
    blueprints=(routes.bp,),
    pages=(pages.bp,),
    slots={"shelf": Slot("", pages.shelf), "lists": Slot("", pages.listed)},
)
