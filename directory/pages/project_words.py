"""The words for the fields and the events of a project, for its public page and its owner's."""

from typing import Any

from directory.language.messages import _
from directory.services.catalog.fields import OWNED

_NAMES: dict[str, str] = {
    each: each
    for each in (
        _("title"), _("tagline"), _("author"), _("description"), _("category"), _("tags"), _("logo"), _("pictures"),
    )
}  # fmt: skip
FIELDS = {field.name: field.label or _NAMES.get(field.name, field.name) for field in OWNED}
EVENTS = {
    "submitted": _("Submitted"), "edited": _("Edited"), "approved": _("Approved"), "rejected": _("Rejected"),
    "unpublished": _("Taken down"), "edit_held": _("Changes sent for review"), "edit_approved": _("Changes approved"),
    "edit_rejected": _("Changes not accepted"), "edit_withdrawn": _("Changes withdrawn"),
    "changes_requested": _("Changes asked for"),
    "resubmitted": _("Given back to the reviewers"), "returned": _("Put back into the queue"),
    "appealed": _("Appealed"), "appeal_upheld": _("Decision upheld"), "appeal_reversed": _("Decision reversed"),
}  # fmt: skip


# The entries of a thread, by kind; of a message the sender says who wrote it.
ENTRIES = {
    "changes_requested": _("The reviewers ask for changes"), "approved": _("Approved"), "rejected": _("Not accepted"),
    "unpublished": _("Taken down"), "appeal": _("You asked for another look"), "appeal_upheld": _("The decision stays"),
    "appeal_reversed": _("The decision was reversed"),
}  # fmt: skip
SENDERS = {"owner": _("You"), "reviewers": _("Reviewers"), "service": _("The service")}


def waits_for_owner(project: dict[str, Any]) -> bool:
    """Whether a project is with its owner, who may give it back to the reviewers."""
    review = project.get("review")
    if review is not None:
        return bool(review["waiting_for"] == "owner")
    return bool(project["status"] == "pending" and not project["queue_position"])


def revised(project: dict[str, Any]) -> list[str]:
    """The fields whose changes wait for review, in words."""
    return [FIELDS[name] for name in (project.get("revision") or {}).get("changes", {})]
