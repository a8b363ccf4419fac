"""Reports of projects by visitors and members: making, listing and settling them."""

from directory import events
from directory.api.schemas.review import QueueSummary
from directory.extras import Extra, Gauge, Members, OwnList, Slot
from directory.extras.reports import pages, routes
from directory.extras.reports.schemas import ReportsInSummary
from directory.language.messages import _

extra = Extra(
    blueprints=(routes.bp, routes.review),
    pages=(pages.bp,),
    slots={"project": Slot("project_report.html", pages.of_project), "help": Slot("help_reports.html")},
    answers={QueueSummary: Members(ReportsInSummary(), routes.add_number)},
    on_event=dict.fromkeys((events.PROJECT_UNPUBLISHED, events.PROJECT_DELETED), routes.mail_acted),
    gauges={"directory_reports_open": Gauge("Reports about projects that are open.", routes.open_reports)},
    own_lists={"reports": OwnList(_("Reports"), pages.own_reports, routes.are_on)},
    init_app=routes.init_app,
)
