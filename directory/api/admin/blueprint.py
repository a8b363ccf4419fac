"""The blueprint of the administrators' routes. The start refuses an open route under it."""

from flask import Blueprint

bp = Blueprint("admin", __name__, url_prefix="/api/admin")
