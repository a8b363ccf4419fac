"""The loop of the deliverer: it sends notifications and deletes expired rows."""

import os
import select
import signal

from flask import Flask

from directory.runtime import housekeeping
from directory.services.delivery.deliverer import Deliverer
from directory.services.delivery.schedule import DeliveryPolicy


def deliver(app: Flask, policy: DeliveryPolicy, parallel: int = 1, *, until_eof: bool = False) -> None:
    """Deliver and tidy until SIGTERM or SIGINT, or with `until_eof` until standard input ends."""
    watched = [_wake_on_signals(), 0] if until_eof else [_wake_on_signals()]
    deliverer = Deliverer(app.app_context, app.extensions["webhooks"], policy, parallel)
    deliverer.start()
    try:
        housekeeping.hourly(app, policy, lambda seconds: select.select(watched, [], [], seconds)[0])
    finally:
        deliverer.stop()


def _wake_on_signals() -> int:
    """A file that can be read once SIGTERM or SIGINT has come.

    No event is set in a handler: it runs within whatever the main thread does, and would wait for itself where that
    is the event's own lock.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    return reading
