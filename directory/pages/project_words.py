"""The words for the fields and the events of a project, for its public page and its owner's."""

from typing import Any

from directory.services.catalog.fields import OWNED

FIELDS = {field.name: field.label or field.name for field in OWNED}
EVENTS = {
    "submitted": "Submitted", "edited": "Edited", "approved": "Approved", "rejected": "Rejected",
    "unpublished": "Taken down", "edit_held": "Changes sent for review", "edit_approved": "Changes approved",
    "edit_rejected": "Changes not accepted", "edit_withdrawn": "Changes withdrawn",
    "changes_requested": "Changes asked for",
    "resubmitted": "Given back to the reviewers", "returned": "Put back into the queue", "appealed": "Appealed",
    "appeal_upheld": "Decision upheld", "appeal_reversed": "Decision reversed",
}  # fmt: skip


# The entries of a thread, by kind; of a message the sender says who wrote it.
ENTRIES = {
    "changes_requested": "The reviewers ask for changes", "approved": "Approved", "rejected": "Not accepted",
    "unpublished": "Taken down", "appeal": "You asked for another look", "appeal_upheld": "The decision stays",
    "appeal_reversed": "The decision was reversed",
}  # fmt: skip
SENDERS = {"owner": "You", "reviewers": "Reviewers", "service": "The service"}


def waits_for_owner(project: dict[str, Any]) -> bool:
    """Whether a project is with its owner, who may give it back to the reviewers."""
    review = project.get("review")
    if review is not None:
        return bool(review["waiting_for"] == "owner")
    return bool(project["status"] == "pending" and not project["queue_position"])


def revised(project: dict[str, Any]) -> list[str]:
    """The fields whose changes wait for review, in words."""
    return [FIELDS[name] for name in (project.get("revision") or {}).get("changes", {})]
