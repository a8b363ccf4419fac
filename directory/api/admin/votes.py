"""The administrators' routes for the votes of a project."""

from typing import Any

from directory.api.admin.blueprint import bp
from directory.api.schemas.review import VoteDecisionsInput, VotePage, VotesDecided, VotesQuery
from directory.http import pagination
from directory.http.access import admin_required
from directory.http.authentication import caller
from directory.http.endpoint import operation
from directory.http.validation import JsonBody
from directory.services import vote_review


@bp.get("/projects/<id:project_id>/votes")
@admin_required
@operation(query=VotesQuery(), answer=VotePage(), tier="read")
def votes(project_id: int, query: dict[str, Any]) -> Any:
    """List the votes for a project, newest first, with signs of doubtful votes."""
    window = pagination.window(query)
    counted = {"true": True, "false": False}.get(query.get("counted", ""))
    found = vote_review.page(project_id, window, counted=counted)
    return {**pagination.by_cursor(found, window), "summary": vote_review.summary(project_id)}


@bp.post("/projects/<id:project_id>/votes/decisions")
@admin_required
@operation(body=JsonBody(VoteDecisionsInput()), answer=VotesDecided())
def decide_votes(project_id: int, body: dict[str, Any]) -> Any:
    """Discount votes for a project, or count them again.

    Users without a vote are skipped, and a decision that was made before changes nothing, so a retry is harmless. A
    voter who withdraws a discounted vote and votes again stays discounted for this project until `count`. The votes
    stay: voters still see them in `has_upvoted`.
    """
    return vote_review.decide(project_id, by=caller(), **body)
