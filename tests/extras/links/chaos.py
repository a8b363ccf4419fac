"""Websites that misbehave, looked at by the process that delivers webhooks (tests/system/chaos)."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from flask import Flask
from sqlalchemy import select

from directory.extensions import db
from directory.extras.links.looking import seen_at
from directory.models import LinkCheck, LinkState, User
from tests.extras.links.site import Names, asking, serving
from tests.support.mailbox import Mailbox
from tests.support.outbox import endpoint, put, states
from tests.support.receiver import Receiver, status
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.stage import MAKING, stage
from tests.system.chaos.webhooks import watching

ON = {"LINK_CHECKS": "on", "ALLOW_INTERNAL_URLS": "true", "WEBHOOK_WORKER": "true"}
WAYS = {"/drip": LinkState.UNREACHABLE, "/endless": LinkState.OK, "/silent": LinkState.UNREACHABLE}
SLEEPS = 30.0  # seconds that a name server takes


def lying(host: str, *_: Any, **_more: Any) -> Any:
    """A name server that takes its time, or gives an address of the own network."""
    if host.startswith("slow"):
        time.sleep(SLEEPS)
    return Names(**{host.replace(".", "_"): ["10.0.0.5"]})(host, 80)


@scenario(
    "Websites send a byte at a time, never end, close without an answer; name servers sleep and lie",
    "webhooks and mail leave meanwhile, each look is over in time with its state, no private address is connected to",
    short={"sites": 9, "deliveries": 20},
    long={"sites": 24, "deliveries": 500},
)
def websites(sites: int, deliveries: int) -> Outcome:
    with ExitStack() as stack:
        running = [stack.enter_context(serving()) for _ in range(sites)]
        receiver = stack.enter_context(Receiver(status(200)))
        at = stack.enter_context(stage("sqlite", WEBHOOK_URL=receiver.url))
        app = stack.enter_context(watching(at))
        at.stop()
        mailbox = stack.enter_context(Mailbox())
        at.settings |= {**ON, **mailbox.settings}
        at.start()
        ways, began = {}, time.monotonic()
        for number, site in enumerate(running):
            way = [*WAYS][number % len(WAYS)]
            body = {**MAKING, "url": site.url(way)}
            made = at.ask("POST", "/api/projects", at.members[number % len(at.members)], body)
            assert made.status == 201, made
            ways[made.json["id"]] = WAYS[way]
        _wait(lambda: any(site.asked for site in running), 30)
        told = time.monotonic()
        with app.app_context():
            for number in range(deliveries):
                put(endpoint(receiver.url), webhook_id=f"meanwhile-{number}")
        receiver.wait(lambda _: states(app).keys() == {"delivered"}, 60)
        took, told = time.monotonic() - told, time.monotonic()
        with app.app_context():
            name = db.session.scalar(select(User.username).where(User.id == at.members[0].id))
        assert at.ask("POST", "/api/auth/password/forgot", None, {"login": name}).status == 202
        mailbox.wait(1)
        mailed = time.monotonic() - told
        _wait(lambda: _seen(app, ways) == ways, 60)
        looked = time.monotonic() - began
    for host in ("slow.example", "inside.example"):
        began = time.monotonic()
        seen = seen_at(f"http://{host}/", asking(internal=False, seconds=2.0, resolve=lying))
        assert (seen.state, time.monotonic() - began < 3) == (LinkState.UNREACHABLE, True), host
    return Outcome(
        f"{sites} websites, {deliveries} notifications meanwhile",
        f"all told after {took:.1f} s, mail after {mailed:.1f} s, all looked at after {looked:.1f} s",
    )


def _seen(app: Flask, ways: dict[int, LinkState]) -> dict[int, Any]:
    query = select(LinkCheck.project_id, LinkCheck.looks).where(LinkCheck.project_id.in_(ways))
    with app.app_context():
        rows = db.session.execute(query).all()
    return {row.project_id: (row.looks or {}).get("url", {}).get("state") for row in rows}


def _wait(condition: Callable[[], Any], seconds: float) -> None:
    ends_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends_at, "not in time"
        time.sleep(0.1)
