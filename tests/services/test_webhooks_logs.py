"""The deliverer's log: one line for each try, and never a secret. On both databases."""

import json
from collections.abc import Iterator

import pytest
from flask import Flask

from directory.db.transactions import transaction
from directory.logs import JsonFormatter
from directory.services.delivery import deliverer as module
from directory.services.delivery import deliveries
from tests.support.outbox import attempts, delivery_thread, endpoint, put, quick, row, send_all
from tests.support.processes import free_port
from tests.support.receiver import SECRET, Receiver, raw, status


@pytest.fixture
def logged(app: Flask, caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What is logged by anybody, down to the last detail."""
    with caplog.at_level("DEBUG"), caplog.at_level("DEBUG", "directory"):
        yield caplog


def test_an_outcome_that_comes_too_late_changes_nothing(app: Flask, logged: pytest.LogCaptureFixture) -> None:
    with Receiver() as receiver:
        to = endpoint(receiver.url)
        by_hand = delivery_thread(app, to, quick())
        with app.app_context():
            [one] = put(to)
        done = by_hand.turn()
        with app.app_context():
            transaction(lambda: deliveries.redeliver(one, by=None))
        by_hand.turn(done)

    assert "webhook outcome came too late" in logged.messages
    with app.app_context():
        assert (row(one).state, attempts(one)) == ("pending", [])


def test_no_line_of_the_log_holds_a_secret(app: Flask, logged: pytest.LogCaptureFixture) -> None:
    token = "T0123456789abcdefghij"
    broken = raw(b"HTTP/1.1 500 Oh\r\nno header\r\n\r\n")
    with Receiver(lambda _name, number: broken if number == 1 else status(410)) as receiver:
        to = endpoint(f"{receiver.url}/services/{token}")
        refused = endpoint(f"http://127.0.0.1:{free_port()}/services/{token}")
        with app.app_context():
            put(to)
            put(refused)
        for one in (to, refused):
            send_all(delivery_thread(app, one, quick(delays=(0.0,) * 3)))

    lines = [JsonFormatter().format(record) for record in logged.records]
    told = [(line["status"], line["error"]) for line in map(json.loads, lines) if line["logger"] == module.log.name]
    assert told == [(500, None), (410, None), *[(None, "connection refused")] * 3]
    assert token not in "".join(lines)
    assert SECRET[6:] not in "".join(lines)
    assert token not in repr(to) + repr(refused)
    assert SECRET not in repr(to)
