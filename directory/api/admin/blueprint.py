"""The blueprint of the administrators' routes. Its unknown paths are closed too; the start refuses an open route."""

from flask import Blueprint

from directory.http.access import close_admin

bp = Blueprint("admin", __name__, url_prefix="/api/admin")
bp.before_app_request(close_admin)
