"""One try over HTTP against receivers of every kind: bounded, silent about secrets, and believed by the status line."""

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests.adapters

from directory.services.delivery.leases import Outcome
from directory.services.delivery.webhooks import sender
from tests.support.outbox import EVENT, endpoint, lease, quick
from tests.support.processes import free_port
from tests.support.receiver import Receiver, drip, endless, hang, raw, reset, status

CERTIFICATE = str(Path(__file__).resolve().parents[1] / "support" / "loopback.pem")
COMMON_NAME = CERTIFICATE.replace("loopback", "common_name")
SHORT = quick(deadline=0.6, connect=0.2)
USUAL = quick(deadline=10.0)


def send(url: str, style: str = "standard", policy: Any = USUAL, payload: Any = EVENT) -> Outcome:
    return sender.send(endpoint(url, style), lease(payload), policy)


def test_a_delivery_is_signed_over_the_bytes_sent_and_says_what_it_is() -> None:
    with Receiver(status(200, b"thanks")) as receiver:
        outcome = send(receiver.url)

    [request] = receiver.received
    assert request.verified() == EVENT
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"].startswith("Project-Directory-Webhooks/")
    assert (outcome.status, outcome.error, outcome.response, outcome.delivered) == (200, None, "thanks", True)


@pytest.mark.parametrize("style", ["discord", "slack"])
def test_chats_get_their_own_format_and_no_signature(style: str) -> None:
    with Receiver(status(204, b"")) as receiver:
        outcome = send(receiver.url, style)

    [request] = receiver.received
    assert outcome.delivered
    assert b"Project approved" in request.body
    assert "webhook-signature" not in request.headers


@pytest.mark.parametrize(
    ("code", "delivered"), [(200, True), (299, True), (300, False), (404, False), (410, False), (500, False)]
)
def test_two_hundreds_are_success_and_nothing_else_is(code: int, delivered: bool) -> None:
    with Receiver(status(code)) as receiver:
        outcome = send(receiver.url)

    assert (outcome.status, outcome.delivered) == (code, delivered)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(code: int) -> None:
    with Receiver(status(200)) as other, Receiver(status(code, Location=other.url)) as receiver:
        outcome = send(receiver.url)

    assert (outcome.status, other.received) == (code, [])


@pytest.mark.parametrize("code", [200, 302, 500])
def test_of_a_gigabyte_four_kilobytes_are_read_and_one_is_kept(code: int) -> None:
    with Receiver(endless(code)) as receiver:
        outcome = send(receiver.url)

    assert (outcome.status, outcome.response) == (code, "x" * 1024)


def test_a_small_answer_does_not_unfold_into_a_large_one() -> None:
    with Receiver(status(200, gzip.compress(b"x" * 10_000_000), Content_Encoding="gzip")) as receiver:
        outcome = send(receiver.url)

    assert outcome.delivered
    assert "xxx" not in outcome.response


@pytest.mark.parametrize(
    "answer",
    [
        hang(),
        drip(b"", b"H", None),
        drip(b"HTTP/1.1 200 OK\r\n", b"a", None),
        drip(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", None),
        drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n", None),
    ],
    ids=["nothing", "a status line for ever", "a header for ever", "headers for ever", "promises for ever"],
)
@pytest.mark.parametrize("tls", [None, CERTIFICATE], ids=["plain", "TLS"])
def test_a_receiver_that_hangs_or_drips_is_cut_off(
    answer: Any, tls: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests.adapters, "DEFAULT_CA_BUNDLE_PATH", CERTIFICATE)
    with Receiver(answer, tls=tls) as receiver:
        outcome = send(receiver.url, policy=SHORT)
        exchanges = [t for t in threading.enumerate() if t.name.startswith("exchange")]

    assert (outcome.status, outcome.error) == (None, "no answer within 0.6 s")
    assert outcome.milliseconds < 15_000
    assert exchanges == []


def test_a_body_without_end_after_a_two_hundred_is_a_delivery_with_what_came_in_time() -> None:
    with Receiver(drip(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nso far", b"!", 200)) as receiver:
        outcome = send(receiver.url, policy=SHORT)

    assert outcome.delivered
    assert outcome.response.startswith("so far")
    assert outcome.milliseconds < 15_000


@contextmanager
def silent_server(first: bytes) -> Iterator[str]:
    """Accepts, says something that is no TLS handshake, and then nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held: list[socket.socket] = []

        def accept() -> None:
            held.append(listener.accept()[0])
            held[0].sendall(first)

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        for connection in held:
            connection.close()


def test_a_handshake_that_is_never_answered_is_no_connection() -> None:
    with silent_server(b"") as place:
        # A long deadline: on a busy machine making ready for TLS alone may take as long as a short one.
        outcome = send(f"https://{place}/", policy=quick(deadline=10, connect=0.2))

    assert outcome.error == "no connection within 0.2 s"


def test_a_server_that_speaks_no_tls_is_told_nothing() -> None:
    with silent_server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as place:
        outcome = send(f"https://{place}/")

    assert outcome.error is not None
    assert outcome.error.startswith("TLS failed: ")


def test_a_certificate_that_nobody_vouches_for_is_refused_before_a_byte_is_sent() -> None:
    with Receiver(tls=CERTIFICATE) as receiver:
        outcome = send(receiver.url)

    assert outcome.error == "certificate refused: self-signed certificate"
    assert receiver.received == []


def test_a_certificate_that_is_vouched_for_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests.adapters, "DEFAULT_CA_BUNDLE_PATH", CERTIFICATE)
    with Receiver(tls=CERTIFICATE) as receiver:
        assert send(receiver.url).delivered


def test_a_certificate_that_the_system_vouches_for_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", CERTIFICATE)
    with Receiver(tls=CERTIFICATE) as receiver:
        assert send(receiver.url).delivered


def test_a_common_name_alone_is_no_name_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", COMMON_NAME)
    with Receiver(tls=COMMON_NAME) as receiver:
        outcome = send(receiver.url.replace("127.0.0.1", "localhost"))

    assert str(outcome.error).startswith("certificate refused: Hostname mismatch")
    assert receiver.received == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reset(), "connection reset by peer"),
        (raw(b""), "connection closed without an answer"),
        (raw(b"SSH-2.0-OpenSSH_9.6\r\n"), "the answer is not HTTP"),
        (raw(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000), "the answer is not HTTP"),
    ],
)
def test_a_broken_answer_is_told_in_plain_words(answer: Any, words: str) -> None:
    with Receiver(answer) as receiver:
        outcome = send(receiver.url)

    assert (outcome.status, outcome.error) == (None, words)


def test_nobody_listening_is_told_in_plain_words() -> None:
    assert send(f"http://127.0.0.1:{free_port()}/").error == "connection refused"


def test_a_name_that_nobody_knows_is_told_in_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    assert send("http://receiver.example/").error == "host name not found"


def test_an_exchange_that_is_over_sends_nothing_when_its_name_server_answers_at_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known, answered = socket.getaddrinfo, threading.Event()

    def late(*arguments: Any, **options: Any) -> Any:
        answered.wait(30)
        return known(*arguments, **options)

    with Receiver() as receiver:
        monkeypatch.setattr(socket, "getaddrinfo", late)
        outcome = send(receiver.url, policy=SHORT)
        [exchange] = [t for t in threading.enumerate() if t.name.startswith("exchange")]
        answered.set()
        exchange.join(30)

    assert outcome.error == "no answer within 0.6 s"
    assert not exchange.is_alive()
    assert receiver.received == []


def test_what_cannot_be_rendered_is_not_sent() -> None:
    with Receiver() as receiver:
        outcome = send(receiver.url, "slack", payload="no JSON")

    assert outcome.error == "not sent: JSONDecodeError"
    assert receiver.received == []


def test_neither_proxies_nor_passwords_are_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password planted\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with Receiver() as receiver:
        outcome = send(receiver.url)

    assert outcome.delivered
    assert "authorization" not in receiver.received[0].headers


def test_a_cookie_is_not_kept() -> None:
    with Receiver(status(200, Set_Cookie="session=1; Path=/")) as receiver:
        send(receiver.url)
        send(receiver.url)

    assert all("cookie" not in request.headers for request in receiver.received)
