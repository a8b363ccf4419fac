"""What the websites and repositories of projects answer: the service looks, says what it saw, and decides nothing.

With LINK_CHECKS=off nothing makes a request to the outside.
"""

from flask import Flask

from directory.extras import Extra, Gauge
from directory.extras.links import schedule


def init_app(app: Flask) -> None:
    """Have the deliverer's process look at links, if LINK_CHECKS is on."""
    if app.config["LINKS_ARE_CHECKED"]:
        app.extensions["workers"].append(lambda stopping: _worker(app, stopping))


def _worker(app: Flask, stopping: object) -> None:
    from directory.extras.links.worker import Worker  # it loads `requests`, of which a server has no use

    Worker(app).run(stopping)  # type: ignore[arg-type]


extra = Extra(
    commands={"": {"links": "links"}},
    on_event=schedule.on_event,
    gauges={
        "directory_links_dead": Gauge("Projects with a dead link.", schedule.dead),
        "directory_link_checks": Gauge("Looks at links, by what they found.", schedule.counts, label="state"),
    },
    init_app=init_app,
)
