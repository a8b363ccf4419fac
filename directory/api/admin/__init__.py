"""The administrators' routes. Each module adds its routes to the one blueprint."""

from directory.api.admin import dashboard, review, users, webhooks
from directory.api.blueprints import admin as bp

__all__ = ["bp", "dashboard", "review", "users", "webhooks"]
