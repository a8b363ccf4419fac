"""What tests of the core, which walk all events, know of looks at links."""

from typing import Any

from directory import events
from directory.extensions import db
from directory.extras.links import schedule
from directory.extras.links.states import Days, Looked, Seen, after
from directory.models import LinkState, now


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
        AGAIN: t.states("401 403 403 403 401 409 409 409 409"),
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
    return {PREVIEW: (t.MEMBER, (409, "links_off")), AGAIN: (t.REVIEWER, (409, "links_off"))}


def summary() -> dict[str, Any]:
    """The members of the queue's summary, and their values while no links are looked at."""
    return {"dead_links": None}
