"""The parts of a receiver's answer that are used: when to try again, and an excerpt without secrets."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from directory.services.delivery.leases import Outcome
from directory.services.delivery.webhooks import sender
from directory.services.delivery.wire import excerpt
from tests.support.outbox import endpoint, lease, quick
from tests.support.processes import free_port
from tests.support.receiver import SECRET, Receiver, status

TOKEN = "T0123456789abcdefghij"


def send(url: str) -> Outcome:
    return sender.send(endpoint(url), lease(), quick(deadline=10.0))


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("date", [True, False])
def test_retry_after_is_heard_as_seconds_and_as_a_date(code: int, date: bool) -> None:
    value = format_datetime(datetime.now(UTC) + timedelta(seconds=120), usegmt=True) if date else "120"
    with Receiver(status(code, Retry_After=value)) as receiver:
        outcome = send(receiver.url)

    assert outcome.retry_after is not None
    assert 60 < outcome.retry_after <= 120


@pytest.mark.parametrize(
    ("code", "value"),
    [(500, "120"), (429, ""), (429, "soon"), (429, "-5"), (503, "Wed, 99 Nov 20000000000000000000 10:00:00 GMT")],
)
def test_a_retry_after_that_makes_no_sense_or_no_difference_is_not_heard(code: int, value: str) -> None:
    with Receiver(status(code, Retry_After=value)) as receiver:
        assert send(receiver.url).retry_after is None


def test_a_retry_after_of_the_past_asks_for_nothing() -> None:
    with Receiver(status(429, Retry_After="Wed, 21 Oct 2015 07:28:00 -0000")) as receiver:
        assert send(receiver.url).retry_after == 0.0


def test_what_is_kept_of_an_answer_holds_none_of_the_endpoints_secrets() -> None:
    url = f"https://user:pass-word@hooks.example/services/{TOKEN}?key=another-long-token"
    shown = f"{url} /services/{TOKEN} token={TOKEN} another-long-token pass-word {SECRET} {SECRET[6:]} harmless"

    kept = excerpt(shown.encode(), sender.secret_parts(endpoint(url)))

    for planted in (TOKEN, "another-long-token", "pass-word", SECRET[6:]):
        assert planted not in kept
    assert kept.endswith("harmless")


def test_what_is_kept_of_an_answer_can_be_stored_and_shown() -> None:
    kept = excerpt(b"a\x00b\x1b[31mc\xff\r\nd\te" + "é".encode() * 1000, ())

    assert kept.startswith("a\ufffdb\ufffd[31mc\ufffd\nd\te")
    assert len(kept.encode()) <= 1024
    assert set(kept[14:]) == {"é"}


def test_an_error_never_holds_the_address() -> None:
    for url in (f"http://127.0.0.1:{free_port()}/services/{TOKEN}", f"http://{TOKEN}\u3002:99/{TOKEN}"):
        outcome = send(url)
        assert outcome.error
        assert TOKEN not in outcome.error
