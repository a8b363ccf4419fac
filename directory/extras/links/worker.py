"""The worker that looks at what is due, in the deliverer's process and with threads of its own."""

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from flask import Flask

from directory.db import deadline
from directory.db.errors import log_failure
from directory.db.transactions import transaction
from directory.extras.links import forges, looking, schedule
from directory.extras.links.hosts import Turns
from directory.extras.links.schedule import Watch
from directory.extras.links.states import Days, Looked
from directory.extras.links.transport import Asking
from directory.models import now

log = logging.getLogger(__name__)
AT_ONCE = 8
POLL, PLANNED_EVERY = 2.0, 3600.0  # seconds between two looks at what is due, and at what has no turn yet
LAST = 5.0  # seconds that looks under way have when it is time to stop


def days_of(app: Flask) -> Days:
    """The settings of an application."""
    config = app.config
    return Days(config["LINK_CHECK_DAYS"], config["LINK_GONE_DAYS"], config["LINK_UNREACHABLE_DAYS"])


def asking_of(app: Flask, pause: Callable[[float], Any] = time.sleep) -> Asking:
    """How an application asks: by the name and the address of its site."""
    site = app.extensions["site"]
    name = "".join(char for char in site.name if char.isascii() and char.isprintable()).strip()
    agent = f"{name or 'Project-Directory'} (+{site.url})" if site.url else name or "Project-Directory"
    return Asking(agent, Turns(app.app_context, pause), internal=app.config["ALLOW_INTERNAL_URLS"])


def look(app: Flask, watch: Watch, asking: Asking, *, at_once: bool = False) -> Looked:
    """Look at a leased project, and write down what was seen."""
    known = forges.configured(app.config["FORGES"])
    arguments = (watch.project_id, watch.links, watch.known, asking, days_of(app), now, known)
    looked = looking.look(*arguments, at_once=at_once)
    with app.app_context(), deadline.within(deadline.SECONDS):
        told = {"notify": app.extensions["webhooks"], "judge": app.extensions["judge"]}
        transaction(lambda: schedule.record(watch, looked, now(), **told))
    return looked


class Worker:
    """Takes what is due, at most AT_ONCE projects at a time, each of which is looked at in a thread."""

    def __init__(self, app: Flask) -> None:
        self._app, self._places = app, threading.Semaphore(AT_ONCE)
        self._planned_at: datetime | None = None

    def run(self, stopping: threading.Event) -> None:
        """Work until it is time to stop. Looks that do not end soon then are lost, and made again."""
        asking = asking_of(self._app, stopping.wait)
        while not stopping.is_set():
            try:
                taken = self.turn(asking)
            except Exception as error:
                log_failure(log, "no look at the links that are due", error, level=logging.WARNING)
                taken = 0
            if not taken:
                stopping.wait(POLL)
        ends_at = time.monotonic() + LAST
        for _ in range(AT_ONCE):
            self._places.acquire(timeout=max(0.0, ends_at - time.monotonic()))

    def turn(self, asking: Asking) -> int:
        """Begin to look at one project that is due, if there is a place. Returns how many were begun."""
        if self._app.config["READ_ONLY"] or not self._places.acquire(timeout=POLL):
            return 0
        watches = list[Watch]()
        try:
            with self._app.app_context(), deadline.within(deadline.SECONDS):
                self._plan()
                if schedule.waiting(now()):
                    watches = transaction(lambda: schedule.take(1, now()))
        finally:
            if not watches:
                self._places.release()
        for watch in watches:
            threading.Thread(target=self._look, args=(watch, asking), name="link-check", daemon=True).start()
        return len(watches)

    def _plan(self) -> None:
        if self._planned_at is None or (now() - self._planned_at).total_seconds() >= PLANNED_EVERY:
            planned = transaction(partial(schedule.plan, self._app.config["LINK_CHECK_DAYS"]))
            self._planned_at = now() if planned < schedule.AT_ONCE else None

    def _look(self, watch: Watch, asking: Asking) -> None:
        try:
            look(self._app, watch, asking)
        except Exception as error:
            log_failure(log, "a look at links failed", error, level=logging.WARNING)
        finally:
            self._places.release()
