"""The thread of a project, for its owner, and for reviewers."""

from typing import Any

from flask import Blueprint

from directory.api.blueprints import review
from directory.api.schemas.messages import (
    AnswerInput,
    MessageOutput,
    MessagePage,
    MessagesQuery,
    ReadInput,
    ReviewerMessageInput,
)
from directory.errors import EmailNotVerified, InvalidTransition, OwnSubmission
from directory.http import languages, pagination
from directory.http.access import decides, own_required, require_verified, reviewer_required, shows_reviewers
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody
from directory.services.catalog import catalog
from directory.services.review import conversation, thread

bp = Blueprint("messages", __name__, url_prefix="/api/projects/<id:project_id>/messages")


@bp.get("")
@own_required
@documented(optional_headers=("Content-Language",))
@operation(query=MessagesQuery(), answer=MessagePage(), tier="read")
def index(project_id: int, query: dict[str, Any]) -> Any:
    """List the thread of a project of the caller, oldest first: messages, and decisions with their reasons.

    Reading them here does not mark them as read.
    """
    window = pagination.window(query)
    page = thread.of_owner(project_id, window, by=caller(), naming=shows_reviewers())
    return languages.threads(pagination.by_cursor(page, window))


@bp.post("")
@own_required
@documented(raises=(EmailNotVerified, InvalidTransition))
@operation(body=JsonBody(AnswerInput()), answer=MessageOutput(), status=201, tier="messages")
def write(project_id: int, body: dict[str, Any]) -> Any:
    """Write to the reviewers of a project of the caller, in whatever state it is.

    With `resubmit` a project that waits for its owner goes back to the queue, to its old place.
    """
    if body.get("resubmit"):
        require_verified("submit")
    return conversation.answer(project_id, **body, by=caller(), notify=subscribers(), naming=shows_reviewers())


@bp.put("/read")
@own_required
@operation(body=JsonBody(ReadInput()), status=204)
def mark_read(project_id: int, body: dict[str, Any]) -> None:
    """Mark the entries up to one as read. They no longer count in `unread` of `GET /api/session`."""
    thread.mark_read(project_id, body["up_to"], by=caller())


@review.get("/projects/<id:project_id>/messages")
@reviewer_required
@decides
@documented(optional_headers=("Content-Language",), raises=(OwnSubmission,))
@operation(query=MessagesQuery(), answer=MessagePage(), tier="read")
def messages(project_id: int, query: dict[str, Any]) -> Any:
    """List the thread of a project, oldest first, with the notes of reviewers.

    Reviewers do not see notes about their own projects.
    """
    by, window = caller(), pagination.window(query)
    catalog.for_review(project_id, by=by)
    return languages.threads(pagination.by_cursor(thread.for_reviewers(project_id, window, by=by), window))


@review.post("/projects/<id:project_id>/messages")
@reviewer_required
@decides
@documented(raises=(OwnSubmission,))
@operation(body=JsonBody(ReviewerMessageInput()), answer=MessageOutput(), status=201, tier="reviewer_messages")
def write_message(project_id: int, body: dict[str, Any]) -> Any:
    """Write to the owner of a project, in whatever state it is, or with `internal` a note to the other reviewers.

    The owner gets a message by mail. A project of one's own takes no note.
    """
    return conversation.write(project_id, **body, by=caller(), notify=subscribers())
