"""The threads of projects, for reviewers."""

from typing import Any

from directory.api.blueprints import review
from directory.api.schemas.messages import MessageOutput, MessagePage, MessagesQuery, ReviewerMessageInput
from directory.errors import OwnSubmission
from directory.http import languages, pagination
from directory.http.access import decides, reviewer_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody
from directory.services.catalog import catalog
from directory.services.review import conversation, thread


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
