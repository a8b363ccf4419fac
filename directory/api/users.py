"""Members as everybody sees them."""

from typing import Any

from flask import Blueprint

from directory.api.schemas.site import ProfileOutput
from directory.http.access import public
from directory.http.endpoint import operation
from directory.services.accounts import users

bp = Blueprint("users", __name__, url_prefix="/api/users")


@bp.get("/<username:username>")
@public
@operation(answer=ProfileOutput(), tier="read", etag=True)
def show(username: str) -> Any:
    """Show a member with their live projects counted.

    A suspended member is 404.
    """
    return users.public(username)
