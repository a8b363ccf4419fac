"""The deliverer: one thread for each endpoint, and an orderly end.

A delivery thread sends one notification at a time to one endpoint, of which the mail server is one. A receiver that
hangs holds its own thread and no other. A deliverer that is killed leaves at most one delivery of each endpoint in
doubt, and the next deliverer sends it again.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, cast

from directory.db import deadline
from directory.db.errors import log_failure
from directory.db.transactions import transaction
from directory.services.delivery import leases
from directory.services.delivery.channels import Endpoint, MailServer, NotToBeSent, Webhook
from directory.services.delivery.leases import Lease, Outcome
from directory.services.delivery.mail import messages, smtp
from directory.services.delivery.schedule import DeliveryPolicy

log = logging.getLogger(__name__)

LONGEST_PAUSE = 5.0  # seconds between looks at a database that is out of reach

Done = tuple[Lease, Outcome]
Send = Callable[[DeliveryPolicy], Outcome]
Context = Callable[[], AbstractContextManager[Any]]  # the application's, in which there is a database


class DeliveryThread(threading.Thread):
    """Delivers to one endpoint, one exchange at a time, until it is stopped."""

    def __init__(self, context: Context, endpoint: Endpoint, policy: DeliveryPolicy, stopping: threading.Event) -> None:
        super().__init__(name=f"delivery-{endpoint.name}", daemon=True)
        self._context, self._endpoint, self._policy, self._stopping = context, endpoint, policy, stopping
        self._pause = 0.0

    def run(self) -> None:
        """Take and send in turns. Outcomes are written down even when it is time to stop."""
        done: Done | None = None
        while done is not None or not self._stopping.is_set():
            try:
                done = self.turn(done)
            except Exception as error:
                done = self._wait_for_database(error, done)
            else:
                self._pause = 0.0
                if done is None:
                    self._stopping.wait(self._policy.poll)

    def turn(self, done: Done | None = None) -> Done | None:
        """Write down the last try and lease the next in one transaction, then send that one, in none."""
        with deadline.within(deadline.SECONDS):  # a thread that waited for a frozen database would miss its successor
            lease = self._record_and_take(done)
        # If we start late, the lease may expire before we finish, and another deliverer take it over.
        if lease is None or lease.age() > self._policy.slack:
            return None
        return lease, self._send(lease)

    def _send(self, lease: Lease) -> Outcome:
        try:
            with self._context(), deadline.within(deadline.SECONDS):
                send = prepared(self._endpoint, lease)
        except NotToBeSent as refused:
            return Outcome(None, str(refused), 0, is_final=True)
        return send(self._policy)

    def _record_and_take(self, done: Done | None) -> Lease | None:
        with self._context():
            if done is None:
                if not leases.waiting(self._endpoint.name, self._policy):
                    return None
                return transaction(self._take)
            state, lease = transaction(lambda: (leases.complete(*done, self._policy), self._take()))
            self._report(*done, state)
            return lease

    def _take(self) -> Lease | None:
        return None if self._stopping.is_set() else leases.take(self._endpoint.name, self._policy)

    def _wait_for_database(self, error: Exception, done: Done | None) -> Done | None:
        """Pause, longer each time. Outcomes of sent deliveries are kept until they are written or the lease ends."""
        log_failure(log, "no look at the outbox", error, level=logging.WARNING)
        self._pause = min(max(0.25, self._pause * 2), LONGEST_PAUSE)
        if self._stopping.wait(self._pause) or done is None:
            return None
        return done if done[0].age() < self._policy.lease.total_seconds() else None

    def _report(self, lease: Lease, outcome: Outcome, state: str | None) -> None:
        facts = {
            "delivery": lease.delivery_id,
            "webhook_id": lease.webhook_id,
            "event": lease.event,
            "endpoint": self._endpoint.name,
            "try": lease.tries + 1,
            "status": outcome.status,
            "error": outcome.error,
            "milliseconds": outcome.milliseconds,
        }
        text = {None: "outcome came too late", "pending": "failed, to be tried again"}.get(state, state)
        level = {"delivered": logging.INFO, "dead": logging.ERROR}.get(str(state), logging.WARNING)
        log.log(level, "%s %s", self._endpoint.channel, text, extra=facts)


class Deliverer:
    """The delivery threads of all endpoints."""

    def __init__(
        self, context: Context, endpoints: Sequence[Endpoint], policy: DeliveryPolicy, parallel: int = 1
    ) -> None:
        self._stopping = threading.Event()
        self._threads = [
            DeliveryThread(context, one, policy, self._stopping) for one in endpoints for _ in range(parallel)
        ]

    def start(self) -> None:
        """Begin to deliver, in threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Take nothing more, and return when the exchanges under way are over and recorded."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()


def prepared(endpoint: Endpoint, lease: Lease) -> Send:
    """Return a function that sends a leased delivery once, without the database.

    The recipient and the text of a mail are read now. Raises NotToBeSent.
    """
    if isinstance(endpoint, MailServer):
        return partial(smtp.send, messages.of_lease(lease, endpoint), endpoint)
    from directory.services.delivery.webhooks import sender  # it loads `requests`: 60 ms and 6 MB

    return partial(sender.send, cast("Webhook", endpoint), lease)
