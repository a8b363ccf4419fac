"""The words for the fields and the events of a project, for its public page and its owner's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from directory import events
from directory.http.access import shows_reviewers
from directory.language.messages import Message, _
from directory.models import Asked, MessageKind, Outcome, Turn
from directory.services import permissions, service_words, turn_words
from directory.services.audit import TIMELINE
from directory.services.catalog.fields import OWNED
from directory.services.identity import Caller
from directory.services.review import thread
from directory.services.turns import Standing

_NAMES: dict[str, str] = {
    word: word
    for word in (
        _("title"), _("tagline"), _("author"), _("description"), _("category"), _("tags"), _("logo"), _("pictures"),
    )
}  # fmt: skip
FIELDS = {field.name: field.label or _NAMES.get(field.name, field.name) for field in OWNED}
EVENTS = {name: event.timeline for event, name in TIMELINE.items()}
KINDS = {name: event.kind for event, name in TIMELINE.items()}  # of the entries in the thread that tell of them
# The entries of a thread, by kind; of a message the sender says who wrote it.
ENTRIES = {event.kind: event.thread for event in events.TABLE if event.kind}
SENDERS = {"owner": _("You"), "reviewers": _("Reviewers"), "service": _("The service")}


@dataclass(frozen=True, slots=True)
class State:
    """Where a project stands, as its page, the list of its owner and the form show it.

    `quoted` are what reviewers wrote, each with who or what it is.
    """

    standing: Standing
    look: str
    badge: str
    title: str
    texts: list[Message]
    quoted: list[tuple[Message, str]]


def states(projects: list[dict[str, Any]], by: Caller) -> dict[int, State]:
    """The states of projects, as `by`, their owner or an administrator, sees them; by id."""
    standings: dict[int, Standing] = {project["id"]: project["standing"] for project in projects}
    asked = [number for number, one in standings.items() if one.asked is Asked.CHANGES]
    written = thread.newest(asked) if asked else {}
    return {project["id"]: _state(project, standings[project["id"]], written, by) for project in projects}


def state(project: dict[str, Any], by: Caller) -> State:
    """The state of one project."""
    return states([project], by)[project["id"]]


def _state(project: dict[str, Any], standing: Standing, written: Mapping[Any, dict[str, Any]], by: Caller) -> State:
    words, is_owner = turn_words.words_of(standing), permissions.owns(by, project["owner"]["id"])
    said = (turn_words.FOR_OTHERS if standing.turn is Turn.OWNER and not is_owner else words).said(standing.until)
    is_live, is_waiting = standing.outcome is Outcome.APPROVED, standing.turn not in {None, Turn.OWNER}
    look = "live" if is_live else "pending" if is_waiting else "rejected"
    return State(standing, look, words.badge, words.title, said, _quoted(project, standing, written))


def _quoted(project: dict[str, Any], standing: Standing, written: Mapping[Any, dict[str, Any]]) -> Any:
    """What the reviewers asked for, and the reason of the last rejection or unpublishing."""
    request, decision = (written.get((project["id"], is_request)) for is_request in (True, False))
    stored = project["rejection_reason"] or (project["revision"] or {}).get("reason")
    reason = stored and service_words.said(stored)
    was_down = decision is not None and decision["kind"] == MessageKind.UNPUBLISHED
    if standing.asked is Asked.CHANGES:
        reason = decision["text"] if decision and was_down and not standing.of_changes else None
    quoted = []
    if request and request["text"]:
        author = request["author"] if shows_reviewers() else None
        quoted.append((_("{name} asks:", name=author["username"]) if author else _("What is asked:"), request["text"]))
    if reason:
        why = _("Why it was taken down:") if standing.asked is Asked.CHANGES else _("Reason:")
        quoted.append((_("Reason of the decision:") if standing.turn is Turn.APPEAL else why, reason))
    return quoted


def revised(project: dict[str, Any]) -> list[str]:
    """The fields whose changes wait for review, in words."""
    return [FIELDS[name] for name in (project.get("revision") or {}).get("changes", {})]
