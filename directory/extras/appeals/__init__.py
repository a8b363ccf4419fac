"""Appeals: owners ask for another look at a rejection or unpublishing of a project, and another person settles it."""

from directory.extras import Extra, Slot
from directory.extras.appeals import page, routes

extra = Extra(
    blueprints=(routes.bp, routes.review),
    pages=(page.bp,),
    slots={
        "own_project": Slot("own_project_appeal.html", page.section, page.SAID),
        "help_review": Slot("help_appeals.html"),
    },
)
