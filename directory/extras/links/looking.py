"""Looks at the links of a project, and what each saw. It holds no connection to the database meanwhile."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from directory.extras.links import forges, states
from directory.extras.links.forges import Forge
from directory.extras.links.states import FORGE, Days, Entry, Looked, Seen
from directory.extras.links.transport import Answer, Asking, Garbled, HostBusy, NoAnswer
from directory.models import LinkState
from directory.services.text.equal_addresses import needs_no_review
from directory.services.text.links import parsed

GONE = {404, 410}


def seen_at(url: str, asking: Asking) -> Seen:
    """What a look at an address sees. Raises HostBusy."""
    try:
        return judged(url, asking.get(url))
    except Garbled as error:
        return Seen(LinkState.UNKNOWN, error.status)
    except NoAnswer as error:
        return Seen(LinkState.UNREACHABLE, error.status)


def judged(url: str, answer: Answer) -> Seen:
    """What an answer says of an address. What a wall for robots answers says nothing."""
    if answer.status in GONE:
        return Seen(LinkState.GONE, answer.status)
    if not 200 <= answer.status < 300:
        return Seen(LinkState.UNKNOWN, answer.status)
    moved_to = answer.moved_to
    if moved_to is None or (needs_no_review(str(parsed(url).href), moved_to) and not _is_secured(url, moved_to)):
        return Seen(LinkState.OK, answer.status)
    return Seen(LinkState.MOVED, answer.status, moved_to)


def _is_secured(before: str, after: str) -> bool:
    return before.lower().startswith("http://") and after.startswith("https://")


def _waits(entry: Entry, at: datetime, days: Days) -> bool:
    due = states.instant(entry["due"])
    return due > at and not states.is_misplanned(due, at, days.between)


def look(
    project_id: int, links: Mapping[str, str], known: Mapping[str, Entry], asking: Asking, days: Days,
    clock: Callable[[], datetime], known_forges: Sequence[Forge] = (), *, at_once: bool = False,
) -> Looked:  # fmt: skip
    """Look at the links, by name, that are due, or with `at_once` at all. One address is asked once."""
    looked, seen = Looked(), dict[str, Seen]()
    for name, url in links.items():
        before = known.get(name)
        if not at_once and before is not None and before["url"] == url and _waits(before, clock(), days):
            continue
        try:
            if name == FORGE:
                asked = (asking, known_forges, clock(), days.between)
                looked.entries[name] = forges.look(project_id, url, before, *asked)
                continue
            if url not in seen:
                seen[url] = seen_at(url, asking)
        except HostBusy as error:
            looked.busy = max(error.seconds, looked.busy or 0.0)
            continue
        looked.entries[name] = states.after(before, url, seen[url], clock(), days, project_id)
    return looked
