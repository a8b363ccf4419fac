"""Around the service: health, readiness, metrics, the API's own description, the feed."""

from flask import Blueprint

bp = Blueprint("system", __name__)
