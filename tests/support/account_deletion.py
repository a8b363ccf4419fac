"""Helpers for the deletion of an account: the deletion by the rule, and the rows that are left of a user."""

from typing import Any

from flask import Flask
from sqlalchemy import func, inspect, select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Project, Session, Token, Upvote
from directory.services.accounts import accounts
from directory.services.data import counter_checks, recount
from directory.services.identity import Caller
from directory.services.people import account_deletion
from tests.support.factories import PASSWORD

PATH = "/api/auth/me"
BODY = {"current_password": PASSWORD}
HOOK = [{
    "url": "https://hook.example/", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "events": ["project.deleted"]
}]  # fmt: skip


def leave(app: Flask, user: Caller, **options: Any) -> None:
    """Delete the account by the rule."""
    with app.app_context():
        known = accounts.get(user.id).password_hash
        given = {"known_hash": known, "notify": [], **options}
        transaction(lambda: account_deletion.delete_account(by=user, **given))


def rows(app: Flask, *columns: Any, **conditions: Any) -> list[tuple[Any, ...]]:
    """The columns of a model's rows, in the order of its primary key: PostgreSQL promises no order by itself."""
    model = columns[0].class_
    query = select(*columns).where(*(getattr(model, name) == value for name, value in conditions.items()))
    query = query.order_by(*inspect(model).primary_key)
    with app.app_context():
        return [tuple(row) for row in db.session.execute(query)]


def faults(app: Flask) -> list[Any]:
    with app.app_context():
        found = recount.look(lambda number: number > 0).faults
        return found + counter_checks.look_beside()


def left(app: Flask, user: Caller) -> dict[str, Any]:
    """The numbers of a user's rows."""
    with app.app_context():
        states = select(Project.status, func.count()).filter_by(owner_id=user.id).group_by(Project.status)
        found: dict[str, Any] = {"states": dict(db.session.execute(states).all())}
        for model in (Upvote, Session, Token):
            rows_of_user = select(func.count()).select_from(model).filter_by(user_id=user.id)
            found[model.__tablename__] = db.session.scalar(rows_of_user)
        return found
