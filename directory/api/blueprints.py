"""The blueprints of the administrators' and the reviewers' routes. The start refuses an open route under either."""

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any

from flask import Blueprint

from directory.http.access import admin_required, reviewer_required

View = Callable[..., Any]
admin = Blueprint("admin", __name__, url_prefix="/api/admin")
review = Blueprint("review", __name__, url_prefix="/api/review")


def both(method: str, path: str) -> Callable[[View], View]:
    """Register a view at a path under /api/review for reviewers, and under /api/admin for administrators; a decorator.

    It takes the place of the route and the access rule. The services know what the caller may review.
    """

    def register(view: View) -> View:
        for blueprint, restricted in ((review, reviewer_required), (admin, admin_required)):
            copied = update_wrapper(partial(view), view)  # so that each has an access rule of its own
            blueprint.add_url_rule(path, view.__name__, restricted(copied), methods=[method])
        return view

    return register
