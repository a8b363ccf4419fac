"""The blueprint of the administrators' routes. It is closed as a whole, so that a new route is closed too."""

from flask import Blueprint

from directory.http.access import close_admin, require_admin

bp = Blueprint("admin", __name__, url_prefix="/api/admin")
bp.before_request(require_admin)
bp.before_app_request(close_admin)
