"""What the websites and repositories of projects answer: the service looks, says what it saw, and decides nothing.

With LINK_CHECKS=off nothing makes a request to the outside.
"""

from flask import Flask

from directory.api.schemas.review import QueueQuery, QueueSummary
from directory.extras import Extra, Gauge, Members, Slot
from directory.extras.links import pages, routes, schedule
from directory.extras.links.schemas import LinksInSummary, LinksQuery


def init_app(app: Flask) -> None:
    """Have the deliverer's process look at links, if LINK_CHECKS is on."""
    if app.config["LINKS_ARE_CHECKED"]:
        app.extensions["workers"].append(lambda stopping: _worker(app, stopping))


def _worker(app: Flask, stopping: object) -> None:
    from directory.extras.links.worker import Worker  # it loads `requests`, of which a server has no use

    Worker(app).run(stopping)  # type: ignore[arg-type]


extra = Extra(
    blueprints=(routes.bp, routes.review),
    pages=(pages.bp,),
    slots={
        "project": Slot("project_links.html", pages.facts),
        "own_project": Slot("own_project_links.html", pages.section, pages.SAID),
        "submit_form": Slot("submit_form_links.html", pages.button),
    },
    commands={"": {"links": "links"}},
    answers={
        QueueQuery: Members(LinksQuery(), schedule.narrow),
        QueueSummary: Members(LinksInSummary(), schedule.add_to_summary),
    },
    conditions=schedule.CONDITIONS,
    on_event=dict.fromkeys(schedule.CHANGED, schedule.look_again),
    gauges={
        "directory_links_dead": Gauge("Projects with a dead link.", schedule.dead),
        "directory_link_checks": Gauge("Looks at links, by what they found.", schedule.counts, label="state"),
    },
    init_app=init_app,
)
