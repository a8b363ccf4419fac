"""What tests of the core, which walk all events, know of looks at links."""

from typing import Any
from unittest.mock import patch

from flask import Flask

from directory import events
from directory.extensions import db
from directory.extras.links import pages, schedule
from directory.extras.links.states import Days, Looked, Seen, after
from directory.models import LinkState, now
from directory.services.identity import Caller
from tests.extras.links.looks import Directory
from tests.extras.links.site import serving


def causes() -> dict[Any, Any]:
    """What causes its event (tests/services/test_events.py)."""
    return {events.PROJECT_LINK_DEAD: _die}


def _die(scene: Any) -> None:
    scene.live()

    def see() -> None:
        [watch] = schedule.take(1, now(), schedule.add([scene.project]))
        entry = None
        for _ in range(3):
            entry = after(entry, watch.links["url"], Seen(LinkState.GONE, 404), now(), Days(gone=0), scene.project)
        schedule.record(watch, Looked({"url": entry or {}}), now(), notify=scene.notify)
        db.session.flush()

    scene.run(see)


def unlogged_commands() -> dict[str, str]:
    """Commands that leave no entry of the log."""
    return {"links check": "no look is in the log; tests/extras/links/test_schedule.py"}


OWNERS, REVIEWERS = (
    f"PUT /api/{which}projects/<id:project_id>/links/moved" for which in ("", "review/")
)  # of the routes that take a moved address over
AGAIN = "PUT /api/review/projects/<id:project_id>/links/due"
FORM, FILL, PREVIEW = "POST /mine/<id:project_id>/links/moved", "POST /submit/fill", "POST /api/links/preview"


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py)."""
    return {
        OWNERS: t.states("401 404 409 404 401 404"),
        FORM: t.states("401 404 409 404 401 404"),
        AGAIN: t.states("401 403 403 403 401 409 409 404 409"),
        PREVIEW: t.states("401 409 409 409 401 409"),
        FILL: t.states("401 409 409 409 401 409"),
        REVIEWERS: t.states("401 403 403 403 401 409 409 404 409"),
    }


def bodies() -> dict[str, Any]:
    """A body that the routes take (tests/support/routes.py)."""
    return {each: {"link": "url"} for each in (OWNERS, REVIEWERS)} | {PREVIEW: {"url": "https://links.invalid"}}


def forms() -> dict[str, Any]:
    """The fields of its forms."""
    return {FORM: {"link": "url"}, FILL: {"url": "https://links.invalid"}}


def lacking() -> dict[str, Any]:
    """Routes whose body is taken and refused: nothing has moved, and there is no such website (there)."""
    return {OWNERS: 409, REVIEWERS: 409, PREVIEW: 422}


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    return {each: {"link"} for each in (OWNERS, REVIEWERS)} | {PREVIEW: {"url"}}


def queries() -> dict[str, Any]:
    """Filters of the queue (tests/api/test_reviewers.py)."""
    return dict.fromkeys(("links=dead", "links=moved"))


def switched_off(t: Any) -> dict[str, Any]:
    """Who could use what is off, and how it is refused (tests/http/test_switched_off.py)."""
    return {PREVIEW: (t.MEMBER, (409, "links_off"))}


def summary() -> dict[str, Any]:
    """The members of the queue's summary, and their values while no links are looked at."""
    return {"dead_links": None}


def sent() -> dict[str, Any]:
    """What the page of a project says after its form was accepted."""
    return pages.SAID


def pressed(walk: Any) -> dict[str, Any]:
    """Forms that ada sends, on the walk past everything that people read: no links are looked at there."""
    moved = (f"/mine/{walk.live}/links/moved", {"link": "url"})
    return {"links": [moved, ("/submit/fill", {"url": "https://example.org"})]}


def shortened() -> dict[str, Any]:
    """Times for which nothing is left to do but wait (tests/api/test_mass_assignment.py)."""
    return {"directory.extras.links.preview.SECONDS": 0.2}


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    look = {"state", "status", "since", "checked_at", "final_url", "dead"}
    seen = t.below("links.repository_url", *look) | {"links.url"}  # which was looked at nowhere yet
    return {
        PREVIEW: {"url", "title", "tagline", "repository_url", "description"},
        OWNERS: t.OWN_DETAIL - {"links"} | seen,
        REVIEWERS: t.REVIEWED - {"links"} | seen,
    }


def elsewhere(t: Any) -> dict[str, Any]:
    """Declared members that the answers there lack."""
    return {OWNERS: t.revised(), REVIEWERS: t.revised() | t.approved()}


def asking() -> dict[str, Any]:
    """Who asks its routes there: an administrator of a directory that looks at links."""
    rules = (route.partition(" ")[2] for route in (OWNERS, REVIEWERS, PREVIEW))
    return dict.fromkeys((rule.removesuffix("moved") for rule in rules), Links)


class Links:
    """A directory that looks at links meanwhile, and an administrator whose project has moved."""

    def __init__(self, app: Flask, admin: Caller) -> None:
        self.directory, self.admin = Directory(app), admin

    def ask(self, name: str) -> Any:
        config, world = self.directory.app.config, self.directory.world
        on = {"LINKS_ARE_CHECKED": True, "ALLOW_INTERNAL_URLS": True, "FORGES": []}
        method, _, path = name.partition(" ")
        with serving() as site, patch.dict(config, on):
            site.pages["/lamp"] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Lamp</title>"
            sent = {"url": site.url("/lamp")}
            if name != PREVIEW:
                links = {"url": site.url("/permanent"), "repository_url": site.url("/2")}
                project = world.project(self.admin, "pending", **links)
                self.directory.look_again(project)
                path, sent = path.replace("<id:project_id>", str(project)), {"link": "url"}
            answer = world.caller(self.admin).call(method, path, sent)
        assert answer.status_code == 200, answer.json
        return answer.json
