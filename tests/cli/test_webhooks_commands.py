"""flask webhooks, as an operator uses it. On both databases."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from directory.db.transactions import transaction
from directory.models import now
from directory.services.delivery import deliveries, leases
from directory.services.delivery.channels import MAIL, Endpoint
from directory.services.delivery.leases import Outcome
from directory.services.delivery.schedule import DeliveryPolicy
from tests.support.factories import World
from tests.support.outbox import delivery_thread, endpoint, put, quick, row, send_all, states
from tests.support.receiver import SECRET, Receiver, status
from tests.support.serving import ROOT

PATH = "/api/admin/webhooks/deliveries"


@pytest.fixture
def receiver() -> Any:
    with Receiver(status(200, b"thank you\nsecond line")) as one:
        yield one


@pytest.fixture
def app(make_app: Any, receiver: Receiver) -> Flask:
    """The application with the receiver as its one endpoint."""
    return make_app(WEBHOOK_URL=receiver.url, WEBHOOK_SECRET=SECRET)  # type: ignore[no-any-return]


@pytest.fixture
def here(receiver: Receiver) -> Endpoint:
    return endpoint(receiver.url)


@pytest.fixture
def run(app: Flask) -> Callable[..., Any]:
    """Runs `flask webhooks …`."""
    runner = app.test_cli_runner(catch_exceptions=False)
    return lambda *arguments: runner.invoke(args=["webhooks", *map(str, arguments)])


def made(app: Flask, to: Endpoint, count: int = 1, **columns: Any) -> list[int]:
    with app.app_context():
        return put(to, count, **columns)


def dead(app: Flask, to: Endpoint, **columns: Any) -> int:
    return made(app, to, state="dead", attempts=10, settled_at=now(), **columns)[0]


def state(app: Flask, delivery_id: int) -> tuple[str, int]:
    with app.app_context():
        delivery = row(delivery_id)
        return delivery.state, delivery.attempts


def test_list_shows_deliveries_newest_first_with_their_last_try(
    app: Flask, run: Callable[..., Any], here: Endpoint
) -> None:
    made(app, here, project_id=7)
    send_all(delivery_thread(app, here, quick()))
    dead(app, here)
    made(app, endpoint("https://gone.example/x"))

    result = run("list")

    heads, third, second, first, total = result.output.splitlines()
    assert result.exit_code == 0
    assert " ".join(heads.split()) == "ID MADE EVENT PROJECT ENDPOINT STATE TRIES LAST TRY NEXT TRY"
    assert "pending, endpoint not configured" in third
    assert "dead" in second
    assert first.split()[3:7] == ["project.approved", "7", here.name, "delivered"]
    assert " 1  200 (" in first
    assert total == "1 pending, 1 delivered, 1 dead"


def test_list_can_be_narrowed_and_cut(app: Flask, run: Callable[..., Any], here: Endpoint) -> None:
    made(app, here, 3)
    dead(app, here)

    assert len(run("list", "--state", "dead").output.splitlines()) == 3
    assert len(run("list", "--limit", "2").output.splitlines()) == 4
    assert "NEXT TRY\n" in run("list", "--state", "delivered").output


def test_redeliver_makes_one_due_at_once(app: Flask, run: Callable[..., Any], here: Endpoint) -> None:
    one, other = dead(app, here), dead(app, here)
    result = run("redeliver", one)

    assert result.exit_code == 0
    assert "pending" in result.output.splitlines()[1]
    assert state(app, one) == ("pending", 0)
    assert state(app, other) == ("dead", 10)
    assert send_all(delivery_thread(app, here, quick())) == 1


def test_redeliver_of_one_that_is_not_there_changes_nothing(
    app: Flask, run: Callable[..., Any], here: Endpoint
) -> None:
    one = dead(app, here)
    result = run("redeliver", one, 999)

    assert result.exit_code == 1
    assert state(app, one) == ("dead", 10)


def test_redeliver_of_all_dead_ones_leaves_the_others(app: Flask, run: Callable[..., Any], here: Endpoint) -> None:
    made(app, here, state="delivered", settled_at=now())
    dead(app, here), dead(app, here)

    assert run("redeliver", "--dead").output == "2 deliveries to be sent again\n"
    assert states(app) == {"pending": 2, "delivered": 1}


def test_redeliver_since_a_time_takes_delivered_ones_too(app: Flask, run: Callable[..., Any], here: Endpoint) -> None:
    old = now() - timedelta(days=3)
    dead(app, here, created_at=old)
    made(app, here, state="delivered", settled_at=now())
    dead(app, here)
    yesterday = f"{now() - timedelta(days=1):%Y-%m-%dT%H:%M}"

    assert run("redeliver", "--dead", "--since", yesterday).output == "1 delivery to be sent again\n"
    assert run("redeliver", "--since", f"{yesterday}Z").output == "2 deliveries to be sent again\n"
    assert states(app) == {"pending": 2, "dead": 1}


def test_redeliver_since_a_time_sends_no_mail_twice_and_one_endpoint_leaves_the_others(
    app: Flask, run: Callable[..., Any], here: Endpoint
) -> None:
    mail = replace(here, name=MAIL)
    for one in (here, mail, endpoint("https://other.example/x")):
        made(app, one, state="delivered", settled_at=now())
    dead(app, mail)
    yesterday = f"{now() - timedelta(days=1):%Y-%m-%dT%H:%M}"

    assert run("redeliver", "--since", yesterday, "--endpoint", here.name).output == "1 delivery to be sent again\n"
    assert states(app) == {"pending": 1, "delivered": 2, "dead": 1}
    assert run("redeliver", "--since", yesterday).output == "3 deliveries to be sent again\n"
    assert states(app) == {"pending": 3, "delivered": 1}
    assert run("redeliver", "--since", yesterday, "--endpoint", MAIL).output == "2 deliveries to be sent again\n"
    misspelt = run("redeliver", "--since", yesterday, "--endpoint", "hear.example")
    assert (misspelt.exit_code, misspelt.output.startswith("Error: no endpoint of that name")) == (1, True)
    assert states(app) == {"pending": 4}


def test_redeliver_of_pending_ones_repeats_no_delivered_one(
    app: Flask, run: Callable[..., Any], here: Endpoint, receiver: Receiver
) -> None:
    made(app, here, state="delivered", settled_at=now())
    made(app, here, 2, attempts=8, next_attempt_at=now() + timedelta(days=1))
    dead(app, here)
    assert send_all(delivery_thread(app, here, quick())) == 0

    assert run("redeliver", "--pending").output == "2 deliveries to be sent again\n"
    assert send_all(delivery_thread(app, here, quick())) == 2
    assert states(app) == {"delivered": 3, "dead": 1}
    assert run("redeliver", "--pending").output == "0 deliveries to be sent again\n"
    tomorrow = f"{now() + timedelta(days=1):%Y-%m-%dT%H:%M}"
    assert run("redeliver", "--pending", "--dead", "--since", tomorrow).output == "0 deliveries to be sent again\n"
    assert run("redeliver", "--pending", "--dead").output == "1 delivery to be sent again\n"


def test_redeliver_of_many_leaves_what_is_being_sent(app: Flask, here: Endpoint) -> None:
    made(app, here, 2)
    with app.app_context():
        lease = transaction(lambda: leases.take(here.name, DeliveryPolicy()))
        assert lease is not None
        assert transaction(lambda: deliveries.redeliver_all(since=now() - timedelta(days=1))) == 1
        assert transaction(lambda: leases.complete(lease, Outcome(200, None, 1), DeliveryPolicy())) == "delivered"


def test_redeliver_of_many_takes_what_was_leased_before_the_clock_was_set_back(app: Flask, here: Endpoint) -> None:
    made(app, here, lease_token="a deliverer's", leased_until=now() + timedelta(hours=1))
    with app.app_context():
        assert transaction(lambda: deliveries.redeliver_all(since=now() - timedelta(days=1))) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [], [1, "--dead"], [1, "--pending"], [1, "--since", "2026-11-20"], ["--since", "noon"], [0], [2**63],
        ["--endpoint", "mail"], [1, "--endpoint", "mail"],
        ["--since", "0001-01-01T00:00+23:59"], ["--since", "9999-12-31T23:59-23:59"],
    ],
)  # fmt: skip
def test_redeliver_refuses_what_it_cannot_understand(run: Callable[..., Any], arguments: list[Any]) -> None:
    assert run("redeliver", *arguments).exit_code == 2


def test_send_test_shows_what_the_endpoint_answers(run: Callable[..., Any], receiver: Receiver, here: Endpoint) -> None:
    result = run("send-test")

    assert result.exit_code == 0
    heads, line = result.output.splitlines()
    assert heads.split() == ["ENDPOINT", "FORMAT", "RESULT", "TOOK", "ANSWER"]
    assert line.split()[:3] == [here.name, "standard", "200"]
    assert line.endswith("thank you")
    [request] = receiver.received
    assert request.verified()["type"] == "webhook.test"


@pytest.mark.parametrize("style", ["discord", "slack"])
def test_send_test_reaches_a_chat(make_app: Any, receiver: Receiver, style: str) -> None:
    app = make_app(WEBHOOK_URL=receiver.url, WEBHOOK_FORMAT=style)
    result = app.test_cli_runner().invoke(args=["webhooks", "send-test", "127.0.0.1"])

    assert result.exit_code == 0
    assert b"Test of this webhook" in receiver.received[0].body


def test_send_test_fails_where_the_endpoint_does(run: Callable[..., Any], receiver: Receiver) -> None:
    receiver.script = status(500, b"")

    assert run("send-test").exit_code == 1


def test_commands_say_what_is_missing(make_app: Any, run: Callable[..., Any]) -> None:
    bare = make_app().test_cli_runner()

    result = bare.invoke(args=["webhooks", "send-test"])
    assert result.exit_code == 1
    assert "no endpoint is configured" in result.output
    assert "no endpoint of that name" in run("send-test", "elsewhere.example").output


def test_nothing_shows_a_secret(app: Flask, run: Callable[..., Any], world: World) -> None:
    endpoint_of = app.extensions["webhooks"][0]
    made(app, endpoint_of)
    send_all(delivery_thread(app, endpoint_of, quick()))
    admin = world.caller(world.admin())
    shown = [run("list").output, run("send-test").output, run("redeliver", 1).output, admin.get(PATH).text]

    for text in shown:
        assert "/hook" not in text
        assert SECRET not in text
        assert SECRET[6:] not in text


def test_requests_is_not_loaded_by_the_server() -> None:
    code = "import wsgi, sys; sys.exit('requests' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
