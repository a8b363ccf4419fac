"""The process of `flask webhooks work`: it delivers, tidies, and runs the workers of extras."""

import os
import select
import signal
import threading

from flask import Flask

from directory.runtime.housekeeping import hourly
from directory.services.delivery.deliverer import Deliverer
from directory.services.delivery.schedule import DeliveryPolicy


def deliver(app: Flask, policy: DeliveryPolicy, parallel: int = 1, *, until_eof: bool = False) -> None:
    """Deliver, tidy, and run the workers of extras until SIGTERM or SIGINT.

    With `until_eof` also until standard input ends.
    """
    watched = [_wake_on_signals(), 0] if until_eof else [_wake_on_signals()]
    deliverer = Deliverer(app.app_context, app.extensions["webhooks"], policy, parallel)
    deliverer.start()
    stopping = threading.Event()
    workers = [threading.Thread(target=work, args=(stopping,), daemon=True) for work in app.extensions["workers"]]
    for worker in workers:
        worker.start()
    try:
        hourly(app, policy, lambda seconds: select.select(watched, [], [], seconds)[0])
    finally:
        stopping.set()
        deliverer.stop()
        for worker in workers:
            worker.join()


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
