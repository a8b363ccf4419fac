"""The words for the fields and the events of a project, for its public page and its owner's."""

from typing import Any

from directory.services.catalog.fields import OWNED

FIELDS = {field.name: field.label or field.name for field in OWNED}
EVENTS = {
    "submitted": "Submitted", "edited": "Edited", "approved": "Approved", "rejected": "Rejected",
    "unpublished": "Taken down", "edit_held": "Changes sent for review", "edit_approved": "Changes approved",
    "edit_rejected": "Changes not accepted", "edit_withdrawn": "Changes withdrawn",
    "resubmitted": "Given back to the reviewers",
}  # fmt: skip


def revised(project: dict[str, Any]) -> list[str]:
    """The fields whose changes wait for review, in words."""
    return [FIELDS[name] for name in (project.get("revision") or {}).get("changes", {})]
