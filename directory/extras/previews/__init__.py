"""What pages elsewhere show of a project: the card in previews of links, and the badge."""

from directory.extras import Extra, Slot
from directory.extras.previews import pages

extra = Extra(
    pages=(pages.bp,),
    slots={"preview": Slot("", pages.in_head), "own_project": Slot("own_project_badge.html", pages.for_owner)},
)
