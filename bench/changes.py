"""What members and reviewers change: requests that can succeed once, and the projects that they are about.

Each has an operation for 999 members and one for a crowd, who come with the cookies of sessions that were last used
more than an hour ago. The projects and passwords that a run needs are added before it, and what it leaves is deleted,
so that the directory stays as large as it was. The log of decisions keeps its entries.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from flask import Flask
from sqlalchemy import delete, func, select, update

import config
from bench.filling import age, on_postgresql
from bench.load import WARM_UP, Subjects, measure
from directory import create_app, extras
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Category, Project, Report, Session, Status, User, now
from directory.services import bulk
from directory.services.accounts.passwords import hash_password
from directory.services.catalog import search_index
from directory.services.catalog.fields import filled
from directory.services.data import wholesale

PASSWORD = "a long password of the bench"
AWAY = timedelta(hours=2)  # since the callers were here
_numbers = itertools.count(time.time_ns())  # another one for each submission, of another run too


class Change(NamedTuple):
    """An operation: the expected status, the most requests a second, the request, its body and its caller."""

    status: int
    rate: int
    request: str
    body: Callable[[str], Any] = lambda _name: None
    by: str = "member"
    about: Status | None = None  # the state of the project in its path; of a pending one the caller is the owner


def text(name: object) -> dict[str, Any]:
    """The words of a submission."""
    return {
        "title": f"Measured {name}", "tagline": "A project of the bench", "tags": ["bench", "measured", "log"],
        "description": f"A sentence of a description, for {name}. " * 15,
    }  # fmt: skip


def submission(category: str) -> dict[str, Any]:
    """The body of a submission, of an address that no other one has."""
    number = next(_numbers)
    return {**text(number), "category": category, "url": f"https://measured.example/{number}"}


CHANGES = {
    "submit": Change(201, 800, "POST /api/projects", submission),
    "edit": Change(
        200, 800, "PUT /api/projects/{project}", lambda _name: text(next(_numbers)), about=Status.PENDING
    ),
    "approve": Change(200, 800, "PUT /api/admin/projects/{project}/approve", by="admin", about=Status.PENDING),
    "request_changes": Change(
        200, 800, "PUT /api/admin/projects/{project}/request-changes",
        lambda _name: {"message": "Please say who it is for."}, "admin", Status.PENDING,
    ),
    "message": Change(
        201, 1500, "POST /api/projects/{project}/messages", lambda _name: {"text": "When will you look at it?"},
        about=Status.PENDING,
    ),
    "report": Change(
        202, 1500, "POST /api/projects/{project}/reports", lambda _name: {"kind": "broken_link"}, about=Status.LIVE
    ),
    "sign_in": Change(
        200, 200, "POST /api/auth/login", lambda name: {"login": name, "password": PASSWORD}, by="anonymous"
    ),
}  # fmt: skip
if "reports" not in extras.NAMES:
    del CHANGES["report"]
OF_CROWD = "_crowd"
WRITING = tuple(name + who for name in CHANGES for who in ("", OF_CROWD))


def measured(operation: str, directory: Any, url: str, *, seconds: int, **load: Any) -> dict[str, Any]:
    """The figures of an operation. Raises SystemExit where an answer is not as it has to be."""
    with prepared(operation, directory, seconds) as lines:
        ageing = partial(age, directory.environment["DATABASE_URL"], AWAY)
        return sent(operation, url, lines, seconds=seconds, before=ageing, **load)


def sent(operation: str, url: str, lines: list[str], **load: Any) -> dict[str, Any]:
    """The figures of prepared lines."""
    change = _change(operation)
    split = change.rate * WARM_UP
    return measure(url, lines[split:], warm_up=lines[:split], status=change.status, **load)


def answer(app: Flask, line: str) -> Any:
    """The answer of an application in this process to a line."""
    method, path, caller, *body = line.split(" ", 3)
    cookie = caller.removeprefix("cookie:")
    by = {"Authorization": f"Bearer {caller}"} if cookie == caller else {"Cookie": cookie}
    headers = {"Sec-Fetch-Site": "same-origin"} | ({} if caller == "-" else by)
    client = app.test_client(use_cookies=False)
    return client.open(path, method=method, headers=headers, json=json.loads(body[0]) if body else None)


@contextmanager
def prepared(operation: str, directory: Any, seconds: float) -> Iterator[list[str]]:
    """The lines for `sent`, which can be sent once; what they leave is deleted afterwards."""
    change, subjects = _change(operation), directory.subjects
    number = round(change.rate * (seconds + WARM_UP))
    app = create_app(config.load({**directory.environment, "LOG_LEVEL": "WARNING"}))
    with app.app_context():
        last = db.session.scalar(select(func.max(Project.id))) or 0
        lines = transaction(lambda: _lines(change, subjects, number, crowd=operation.endswith(OF_CROWD)))
        _close()
        on_postgresql(directory.environment["DATABASE_URL"], "VACUUM ANALYZE", "CHECKPOINT")
        try:
            yield lines
        finally:
            transaction(lambda: _restore(last))
            _close()


def _change(operation: str) -> Change:
    return CHANGES[operation.removesuffix(OF_CROWD)]


def _close() -> None:
    db.session.remove()
    db.engine.dispose()


def _lines(change: Change, subjects: Subjects, number: int, *, crowd: bool) -> list[str]:
    callers = subjects.crowd_cookies if crowd else subjects.cookies
    users = [int(cookie.rpartition("-")[2]) for cookie in callers]
    names = [""]
    if change.by == "anonymous":
        names = _with_password(users[:number])
    elif change.about is None:
        names = subjects.categories
    projects = [0]
    if change.about is Status.PENDING:
        # An owner may write twice about a project, which is decided once.
        needed = number if change.by == "admin" else min(number, len(users))
        projects = _waiting([users[n % len(users)] for n in range(needed)])
    elif change.about is Status.LIVE:
        projects = subjects.live
    lines = []
    for n in range(number):
        rotated = n // len(projects) if change.about is Status.LIVE else 0  # so no member reports a project twice
        member = f"cookie:{callers[(n + rotated) % len(callers)]}"
        who = {"anonymous": "-", "admin": subjects.admin, "member": member}
        asked = change.request.format(project=projects[n % len(projects)])
        body = change.body(names[n % len(names)])
        lines.append(f"{asked} {who[change.by]} {'' if body is None else json.dumps(body)}".rstrip())
    return lines


def _with_password(users: list[int]) -> list[str]:
    """The names of users, who have the PASSWORD now."""
    db.session.execute(update(User).where(User.id.in_(users)).values(password_hash=hash_password(PASSWORD)))
    return list(db.session.scalars(select(User.username).where(User.id.in_(users))))


def _waiting(owners: list[int]) -> list[int]:
    """New pending projects of these owners."""
    bulk.begin()
    category, first = db.session.scalars(select(Category.id)).first(), bulk.reserve(Project, len(owners))
    assert category is not None
    drafts = [
        wholesale.Draft(owner, category, filled(submission("")), Status.PENDING, now(), None, first + n)
        for n, owner in enumerate(owners)
    ]
    return wholesale.write(drafts, decided_by=None)


def _restore(last: int) -> None:
    """Delete the projects after this one, and reports, and the sessions of those who signed in."""
    bulk.begin()
    if added := list(db.session.scalars(select(Project.id).where(Project.id > last))):
        search_index.forget(*added)
        db.session.execute(delete(Project).where(Project.id > last))
    db.session.execute(delete(Report))
    db.session.execute(delete(Session).where(Session.user_agent.not_in(["bench", "crowd"])))
