"""The administrators' routes. Each module adds its routes to the one blueprint."""

from directory.api.admin import dashboard, review, users, webhooks
from directory.api.admin.blueprint import bp

__all__ = ["bp", "dashboard", "review", "users", "webhooks"]
