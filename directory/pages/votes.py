"""Votes by forms, for browsers without JavaScript; with it the same buttons send votes to the API."""

from typing import Any

from flask import request

from directory.api import projects
from directory.http.access import login_required
from directory.http.fields import Strict, Word
from directory.pages.forms import Form, same_as, see_other, shows
from directory.pages.layout import Answer, bp, own_path
from directory.pages.signing_in import refused

CAST, WITHDRAW = "cast", "withdraw"


class VoteForm(Strict):
    """The action on the caller's vote."""

    vote = Word((CAST, WITHDRAW), required=True)


def refused_vote(form: Form, project_id: int) -> Answer:
    """The form that signs in, for who is not signed in; for others why the vote was refused."""
    back = _back(request.args.to_dict(), project_id)
    return refused(form, back, back, "Sign in to vote.")


@bp.post("/votes/<id:project_id>")
@shows(refused_vote)
@login_required
@same_as(projects.cast_vote, VoteForm())
def vote(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Any:
    """Vote for a project, or withdraw the vote, and go back to the page where the button was."""
    chosen: Any = projects.cast_vote if body["vote"] == CAST else projects.withdraw_vote
    chosen.view(project_id=project_id)
    return see_other(_back(query, project_id))


def _back(query: dict[str, str], project_id: int) -> str:
    """The page with the button, scrolled to the project."""
    return f"{own_path(query.get('next')).partition('#')[0]}#p-{project_id}"
