"""The page on webhooks: its receiver runs as it is printed, and its numbers are the code's."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from directory import events
from directory.services.delivery.leases import Outcome
from directory.services.delivery.schedule import DELAYS, RETENTION, DeliveryPolicy
from directory.services.delivery.webhooks import sender
from tests.support.outbox import EVENT, endpoint, lease, quick
from tests.support.processes import free_port
from tests.support.receiver import SECRET
from tests.support.serving import ROOT, WITHIN

POLICY = DeliveryPolicy()
PAGE = (ROOT / "docs" / "webhooks.md").read_text(encoding="utf-8")
OTHER = "whsec_YW5vdGhlciBrZXkgb2YgMjggYnl0ZXMgaGVyZQ=="


@contextmanager
def running(script: Path) -> Iterator[tuple[str, Path]]:
    """The page's receiver: its address, and what it prints."""
    port, printed = free_port(), script.with_suffix(".out")
    environment = {**os.environ, "WEBHOOK_SECRET": SECRET, "PORT": str(port)}
    with printed.open("wb") as output:
        process = subprocess.Popen([sys.executable, script], env=environment, stdout=output, stderr=subprocess.DEVNULL)
    try:
        give_up = time.monotonic() + WITHIN
        while time.monotonic() < give_up:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/", printed
    finally:
        process.kill()
        process.wait()


def test_the_receiver_of_the_page_verifies_and_deduplicates(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    script = tmp_path / "receiver.py"
    script.write_text(code)
    first, second = lease(), lease()

    with running(script) as (url, printed):
        sent: list[Outcome] = [
            sender.send(endpoint(url, secret_list=secrets), one, quick())
            for one, secrets in [(first, (SECRET,)), (first, (SECRET,)), (second, (OTHER, SECRET)), (lease(), (OTHER,))]
        ]

    assert [outcome.status for outcome in sent] == [204, 204, 204, 400]
    assert printed.read_text().splitlines() == [f"project.approved {EVENT['data']['project']['title']}"] * 2  # type: ignore[index]


def test_every_event_stands_on_the_page() -> None:
    listed = dict(re.findall(r"^\| `([a-z._]+)` \|.*\| (?:`(\w+)` )?\|$", PAGE, re.M))

    assert listed.keys() == set(events.WEBHOOKS)
    assert {event: actor for event, actor in listed.items() if actor} == {
        each: each.actor for each in events.WEBHOOKS if each.actor
    }


def test_every_mail_stands_on_the_page() -> None:
    rows = PAGE.partition("## Mail")[2].splitlines()
    listed = [name for row in rows if row.startswith("| `") for name in re.findall(r"`([\w.]+)`", row.split("|")[1])]
    mailed = {events.WEBHOOK_TEST, *(each for each in events.TABLE if each.mail)}

    assert sorted(listed) == sorted({"event", *mailed})


@pytest.mark.parametrize(
    "words",
    [
        f"Connecting may take {POLICY.connect:g} seconds, and the whole exchange {POLICY.deadline:g}.",
        f"reserves each delivery for {POLICY.lease.total_seconds():g}\nseconds (a lease)",
        f"deleted after {RETENTION.days} days",
        "5 seconds, 5 minutes, 30 minutes, 2 hours, 5 hours, 10 hours, 14 hours, 20 hours and 24 hours,",
        "User-Agent: " + sender.HEADERS["User-Agent"],
    ],
)
def test_the_numbers_of_the_page_are_those_of_the_code(words: str) -> None:
    assert words in PAGE
    assert len(DELAYS) == 10
