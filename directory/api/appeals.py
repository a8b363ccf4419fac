"""Appeals of the owners of projects. APPEALS=off switches them off."""

from typing import Any

from flask import Blueprint

from directory.api.schemas.messages import AppealInput, MessageOutput
from directory.errors import AppealNotPossible, EmailNotVerified
from directory.http.access import own_required, require_appeals, require_verified, shows_reviewers
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody
from directory.services.review import appeals

bp = Blueprint("appeals", __name__, url_prefix="/api/projects/<id:project_id>/appeal")


@bp.post("")
@own_required
@documented(raises=(AppealNotPossible, EmailNotVerified))
@operation(body=JsonBody(AppealInput()), answer=MessageOutput(), status=201, tier="messages", when=require_appeals)
def appeal(project_id: int, body: dict[str, Any]) -> Any:
    """Ask for another look at the rejection of a project or of changes of it, or at its unpublishing.

    Another person than the one who decided settles the appeal. It is possible once for each decision, within 180 days,
    and not after an edit or another decision. Until the outcome the project waits for nothing else, and does not close.
    Any other decision, and an edit or a withdrawal by the owner, end the appeal without an outcome.
    """
    require_verified("submit")
    return appeals.appeal(project_id, **body, by=caller(), notify=subscribers(), naming=shows_reviewers())
