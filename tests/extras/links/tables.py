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
