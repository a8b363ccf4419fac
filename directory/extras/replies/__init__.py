"""Saved replies: texts that reviewers choose for a decision, and administrators write."""

from directory.extras import Extra
from directory.extras.replies import routes

extra = Extra(blueprints=(routes.bp,), pages=(routes.pages,))
