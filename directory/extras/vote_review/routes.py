"""The administrators' routes for the votes, and their page in the console."""

from typing import Any

from flask import Blueprint

from directory.db.paging import Slice
from directory.extras.vote_review import decisions
from directory.extras.vote_review.schemas import (
    DoubtfulPage,
    DoubtfulQuery,
    VoteDecisionsInput,
    VotePage,
    VotesDecided,
    VotesQuery,
)
from directory.http import pagination
from directory.http.access import admin_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.receivers import configured_mail_server
from directory.http.validation import JsonBody
from directory.pages.shells import console_page
from directory.services.catalog import catalog

bp = Blueprint("admin", __name__, url_prefix="/api/admin")
pages = Blueprint("pages", __name__)
pages.add_url_rule("/admin/projects/<id:project_id>", view_func=console_page)


@bp.get("/projects/<id:project_id>/votes")
@admin_required
@operation(query=VotesQuery(), answer=VotePage(), tier="read")
def votes(project_id: int, query: dict[str, Any]) -> Any:
    """List the votes for a project, newest first, with signs of doubtful votes."""
    window = pagination.window(query)
    counted = {"true": True, "false": False}.get(query.get("counted", ""))
    page = decisions.page(project_id, window, counted=counted)
    return {**pagination.by_cursor(page, window), "summary": decisions.summary(project_id)}


@bp.get("/projects/doubtful")
@admin_required
@documented(headers=("Link",))
@operation(query=DoubtfulQuery(), answer=DoubtfulPage(), tier="read")
def doubtful_votes(query: dict[str, Any]) -> Any:
    """List the live projects whose recent votes look doubtful, the most doubtful first.

    It reads the newest 5,000 votes of the directory. The order is that of the number of doubtful votes times their
    share of the project's recent votes. Without a mail server nobody can confirm an address: then `unverified` does
    not make a vote doubtful.
    """
    window = pagination.window(query)
    doubtful = decisions.doubtful_projects(decisions.RULES if configured_mail_server() else decisions.WITHOUT_MAIL)
    part = doubtful[window.skipped : window.skipped + window.limit]
    projects = catalog.many([row["id"] for row in part], viewer=caller())
    items = [projects[row["id"]] | row for row in part if row["id"] in projects]
    return pagination.numbered(Slice(items, None, None), window, len(doubtful))


@bp.post("/projects/<id:project_id>/votes/decisions")
@admin_required
@operation(body=JsonBody(VoteDecisionsInput()), answer=VotesDecided())
def decide_votes(project_id: int, body: dict[str, Any]) -> Any:
    """Discount votes for a project, or count them again.

    Users without a vote are skipped, and a decision that was made before changes nothing, so a retry is harmless. A
    voter who withdraws a discounted vote and votes again stays discounted for this project until `count`. The votes
    stay: voters still see them in `has_upvoted`.
    """
    return decisions.decide(project_id, by=caller(), **body)
