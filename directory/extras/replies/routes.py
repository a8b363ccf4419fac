"""The routes of saved replies, and their page in the console: reviewers read them, administrators write them."""

from typing import Any

from flask import Blueprint

from directory.errors import Duplicate, ReviewerRequired, TooMany
from directory.extras.replies import replies
from directory.extras.replies.schemas import ReplyInput, ReplyList, ReplyOutput
from directory.http.access import admin_required, reviewer_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.validation import JsonBody
from directory.pages.shells import console_page

bp = Blueprint("review", __name__, url_prefix="/api/review")
pages = Blueprint("pages", __name__)
pages.add_url_rule("/admin/replies", view_func=console_page)


@bp.get("/replies")
@reviewer_required
@operation(answer=ReplyList(), tier="read")
def list_replies() -> Any:
    """List all saved replies, by name: texts for decisions, in which the client fills in what is in braces.

    `{title}` stands for the title of the project, `{owner}` for the username of its owner, `{site}` for the name of the
    directory.
    """
    return {"items": replies.listed()}


@bp.post("/replies")
@admin_required
@documented(raises=(ReviewerRequired, Duplicate, TooMany))
@operation(body=JsonBody(ReplyInput()), answer=ReplyOutput(), status=201)
def add_reply(body: dict[str, Any]) -> Any:
    """Save a reply. There are at most a hundred, each with a name of its own."""
    return replies.add(body, by=caller())


@bp.put("/replies/<id:reply_id>")
@admin_required
@documented(raises=(ReviewerRequired, Duplicate))
@operation(body=JsonBody(ReplyInput(partial=True)), answer=ReplyOutput())
def change_reply(reply_id: int, body: dict[str, Any]) -> Any:
    """Change a saved reply."""
    return replies.change(reply_id, body, by=caller())


@bp.delete("/replies/<id:reply_id>")
@admin_required
@documented(raises=(ReviewerRequired,))
@operation(status=204)
def remove_reply(reply_id: int) -> Any:
    """Delete a saved reply."""
    replies.remove(reply_id, by=caller())
