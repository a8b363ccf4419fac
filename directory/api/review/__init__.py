"""The reviewers' routes, and those of administrators that do the same. Each module adds its routes."""

from directory.api.blueprints import review as bp
from directory.api.review import claims, projects

__all__ = ["bp", "claims", "projects"]
