"""A directory whose links are looked at when a test says so."""

from collections.abc import Callable
from typing import Any

from flask import Flask
from sqlalchemy import select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.links import schedule, worker
from directory.models import LinkCheck, now
from tests.extras.links.site import asking
from tests.support.factories import World

ON = {"LINK_CHECKS": "on", "ALLOW_INTERNAL_URLS": "true", "LINK_GONE_DAYS": "0"}


class Directory:
    """A directory that looks at links, and what its worker does, when the test says so."""

    def __init__(self, app: Flask) -> None:
        self.app, self.world, self.notify = app, World(app), app.extensions["webhooks"]

    def run(self, work: Callable[[], Any]) -> Any:
        with self.app.app_context():
            return transaction(work)

    def take(self, most: int = 10) -> list[schedule.Watch]:
        found: list[schedule.Watch] = self.run(lambda: schedule.take(most, now()))
        return found

    def look(self) -> int:
        """Look at what is due. Returns at how many projects."""
        watches = self.take()
        for watch in watches:
            worker.look(self.app, watch, asking())
        return len(watches)

    def look_again(self, project: int) -> None:
        """The same of one project, at once."""
        [watch] = self.run(lambda: schedule.take(1, now(), schedule.add([project])))
        worker.look(self.app, watch, asking(), at_once=True)

    def row(self, project: int) -> Any:
        columns = (LinkCheck.due_at, LinkCheck.leased_until, LinkCheck.looks, LinkCheck.is_dead, LinkCheck.has_moved)
        return self.run(
            lambda: db.session.execute(select(*columns).where(LinkCheck.project_id == project)).one_or_none()
        )
