"""The reviewers' routes, and those of administrators that do the same. Each module adds its routes."""

from directory.api.blueprints import review as bp
from directory.api.review import projects

__all__ = ["bp", "projects"]
