"""Appeals: owners ask for another look at a rejection or unpublishing of a project, and another person settles it."""

from directory.api.schemas.review import QueueSummary
from directory.extras import Extra, Gauge, Members, Slot
from directory.extras.appeals import appeals, page, routes

extra = Extra(
    blueprints=(routes.bp, routes.review),
    pages=(page.bp,),
    slots={
        "own_project": Slot("own_project_appeal.html", page.section, page.SAID),
        "help_review": Slot("help_appeals.html"),
    },
    answers={QueueSummary: Members(routes.AppealsInSummary(), routes.add_to_summary)},
    gauges={"directory_appeals_open": Gauge("Appeals that wait for an outcome.", appeals.number_open)},
)
