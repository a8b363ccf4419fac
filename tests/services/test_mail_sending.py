"""One try over SMTP against servers of every kind: bounded, encrypted, verified, and silent about secrets."""

import base64
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.header import decode_header
from pathlib import Path
from typing import Any

import pytest

from directory import events
from directory.events import Event
from directory.language import po
from directory.models import ReportOutcome
from directory.services.delivery.leases import RECIPIENT_REFUSED, Outcome
from directory.services.delivery.mail import messages, smtp, templates
from directory.services.delivery.mail.templates import Mail
from directory.services.site import Site
from directory.services.turns import Asked, Standing, Turn
from tests.support.mailbox import PASSWORD, SENDER, SITE, STEPS, USER, Mailbox, hang, server
from tests.support.outbox import quick
from tests.support.processes import free_port

CERTIFICATE = str(Path(__file__).resolve().parents[1] / "support" / "loopback.pem")
SHORT = quick(deadline=0.5, connect=0.2)
USUAL = quick(deadline=10.0)
ADA = "ada@example.org"


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' certificate is one that this machine trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", CERTIFICATE)


def send(to: Any, policy: Any = USUAL, mail: Mail | None = None, secrets: frozenset[str] = frozenset()) -> Outcome:
    made = messages.message(mail or templates.test(SITE), to=ADA, server=to, message_id="msg_1")
    return smtp.send(messages.Message(made.to, made.content, secrets), to, policy)


def test_a_message_says_who_sends_it_to_whom_and_what_the_site_is() -> None:
    with Mailbox() as mailbox:
        outcome = send(mailbox.server())

    [taken] = mailbox.taken
    assert (outcome.status, outcome.error, outcome.response, outcome.delivered) == (250, None, "taken", True)
    assert (taken.sender, taken.to) == (SENDER[1], [ADA])
    message = taken.message
    assert {name: str(message[name]) for name in ("From", "To", "Subject", "Message-ID", "Auto-Submitted")} == {
        "From": "Project Directory <directory@example.net>",
        "To": ADA,
        "Subject": "Test mail from Project Directory",
        "Message-ID": "<msg_1@example.net>",
        "Auto-Submitted": "auto-generated",
    }
    assert message["Date"].datetime.tzinfo is not None
    assert message.get_content_type() == "text/plain"
    assert taken.text.endswith("-- \nProject Directory\nhttps://directory.example.net/\n")


def test_letters_of_any_alphabet_arrive_as_they_are_in_seven_bits() -> None:
    text = "Grüße, 世界 🎉\n.\n..\nFrom here\n" + "long " * 400 + "\n"
    with Mailbox() as mailbox:
        send(mailbox.server(sender=("Verzeichnis „Süd“", SENDER[1])), mail=Mail("Über “alles”", text))

    [taken] = mailbox.taken
    assert taken.text == text
    assert (str(taken.message["Subject"]), taken.message["From"].addresses[0].display_name) == (
        "Über “alles”",
        "Verzeichnis „Süd“",
    )
    assert taken.raw.isascii()


@pytest.mark.parametrize(
    "title",
    # What looks like an encoded word; and words of other letters behind one that is as long as a line.
    ["=?utf-8?q?Your_account_is_locked?=", "é =?utf-8?b?SGk=?= " + "long " * 30, f"{'w' * 72} é é “x” ü"],
)
def test_a_title_in_a_subject_arrives_as_it_is(title: str) -> None:
    with Mailbox() as mailbox:
        send(mailbox.server(), mail=templates.compose(SITE, f"Approved: {title.strip()}", "A text."))

    [taken] = mailbox.taken
    assert str(taken.message["Subject"]) == f"Approved: {title.strip()}"
    assert all(len(line) < 80 for line in taken.raw.split(b"\r\n"))


TO_OWNERS = [each for each in events.TABLE if each.mail and each.actor]
HEBREW, ARABIC = "שלום.", "مشروع!"


@pytest.mark.parametrize("title", [HEBREW, ARABIC, f"json {ARABIC}", "٣"])
@pytest.mark.parametrize("event", sorted(TO_OWNERS))
def test_a_title_from_right_to_left_does_not_turn_our_sentence(title: str, event: Event) -> None:
    project = {"title": f"{title}\u202e", "id": 1, "slug": "x"}
    reason = f"{HEBREW}\n{ARABIC}"
    with Mailbox() as mailbox:
        send(mailbox.server(), mail=templates.decision(SITE, event, "ada", project, reason, "https://x.example"))

    [taken] = mailbox.taken
    assert taken.raw.isascii()
    assert f"“\u2068{title} \u2069”" in str(taken.message["Subject"])
    assert f"“\u2068{title} \u2069”" in taken.text
    words = "" if event.has_message else "The reason: "
    assert f"{words}\u2068{HEBREW}\u2069\n{ARABIC}\n" in taken.text
    # The raw bytes of the subject: encoded words of UTF-8 with both marks.
    parts = decode_header(taken.raw.partition(b"Subject: ")[2].partition(b"\r\nDate")[0].decode("ascii"))
    raw = b"".join(part if isinstance(part, bytes) else part.encode() for part, _charset in parts)
    assert raw.count(b"\xe2\x81\xa8") == raw.count(b"\xe2\x81\xa9") == 1


def test_a_title_from_left_to_right_gets_no_marks_and_a_cut_subject_closes_its_own() -> None:
    project = {"title": "Grüße — 日本語", "id": 1, "slug": "x"}
    mail = templates.decision(SITE, events.PROJECT_APPROVED, "ada", project, "A reason", "https://x.example")
    assert not set("\u2068\u2069") & set(mail.subject + mail.text)
    mail = templates.decision(SITE, events.PROJECT_APPROVED, "ada", {**project, "title": "ש" * 300}, None, "")
    assert (len(mail.subject), mail.subject[-1]) == (templates.SUBJECT_MAX, "\u2069")
    assert len(templates.compose(SITE, "x" * 300).subject) == templates.SUBJECT_MAX - 1


@pytest.mark.parametrize(
    ("event", "asked", "says_until_when"),
    [
        (events.PROJECT_APPROVED, Asked.UNPUBLISHED, False),
        (events.PROJECT_EDIT_APPROVED, Asked.CHANGES, False),
        (events.PROJECT_UNPUBLISHED, Asked.UNPUBLISHED, True),
        (events.PROJECT_UNPUBLISHED, Asked.CHANGES, False),
        (events.PROJECT_CHANGES_REQUESTED, Asked.CHANGES, True),
        (events.PROJECT_CHANGES_REQUESTED, Asked.UNPUBLISHED, False),
    ],
)
def test_a_mail_that_leaves_late_does_not_say_what_a_later_decision_asks(
    event: Event, asked: Asked, says_until_when: bool
) -> None:
    standing = Standing(
        Turn.OWNER, of_changes=False, was_live=True, until=datetime(2026, 12, 29, tzinfo=UTC), asked=asked
    )
    project = {"title": "Lamp", "id": 1, "slug": "lamp"}
    mail = templates.decision(SITE, event, "ada", project, None, "", standing=standing)
    assert ("by 29 December 2026" in mail.text) is says_until_when


QUOTED = {
    "en": "“Lamp”", "de": "„Lamp“", "fr": "«\u00a0Lamp\u00a0»", "es": "«Lamp»", "pt-BR": "“Lamp”", "ja": "「Lamp」",
    "ar": "«\u2068Lamp\u2069»",
}  # fmt: skip


@pytest.mark.parametrize("tag", QUOTED)
def test_a_title_stands_once_and_in_the_quotation_marks_of_the_mails_language(tag: str) -> None:
    language, project = po.catalogue(tag, po.our_files(tag)), {"title": "Lamp", "id": 1, "slug": "lamp"}
    mails = [templates.decision(SITE, each, "ada", project, None, "", language) for each in TO_OWNERS]
    mails += [
        templates.report_settled(SITE, events.REPORT_SETTLED, "ada", project, each, None, "", language)
        for each in ReportOutcome
    ]
    for text in (text for mail in mails for text in (mail.subject, mail.text)):
        assert QUOTED[tag] in text
        assert len([each for each in text if each in "“”„«»「」"]) == 2, text


def test_a_cut_subject_of_a_language_from_right_to_left_leaves_nothing_open() -> None:
    arabic, project = po.catalogue("ar", po.our_files("ar")), {"title": "ש" * 300, "id": 1, "slug": "x"}
    subject = templates.decision(SITE, events.PROJECT_APPROVED, "ada", project, None, "", arabic).subject
    assert len(subject) == templates.SUBJECT_MAX
    assert subject.count("\u2068") == subject.count("\u2069") > 1


def test_a_site_with_a_name_from_right_to_left_does_not_turn_our_sentence() -> None:
    mail = templates.test(Site(HEBREW, SITE.url))
    assert mail.subject == f"Test mail from \u2068{HEBREW}\u2069"
    assert mail.text.endswith(f"-- \n{HEBREW}\n{SITE.url}/\n")


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\u2028", "\x85", "\x0b", "\0", "\u202e"])
def test_no_text_of_others_adds_a_header(end: str) -> None:
    title = f"A title{end}Bcc: all@example.com{end}{end}A body"
    with Mailbox() as mailbox:
        send(mailbox.server(), mail=templates.compose(SITE, title, "A text."))

    [taken] = mailbox.taken
    assert taken.to == [ADA]
    assert taken.message["Bcc"] is None
    assert str(taken.message["Subject"]) == "A title Bcc: all@example.com A body"
    assert taken.text.startswith("A text.\n")


@pytest.mark.parametrize(
    "to", ["ada@example.org\r\nRCPT TO:<x@example.org>", "a@b.c>, <x@y.z", "deleted-7", "=?x?q?y?=@a.b,c"]
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(to: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        messages.message(templates.test(SITE), to=to, server=server(1), message_id="msg_1")


@pytest.mark.parametrize("step", STEPS[1:])
@pytest.mark.parametrize("reply", ["451 4.3.0 later", "550 5.1.1 there is no such mailbox", "421 4.3.2 going down"])
def test_a_refusal_at_any_step_is_the_outcome(step: str, reply: str) -> None:
    with Mailbox({step: reply}) as mailbox:
        outcome = send(mailbox.server())

    error = RECIPIENT_REFUSED if "mailbox" in reply and step in {"RCPT", "DATA"} else None
    assert (outcome.status, outcome.error, outcome.response) == (int(reply[:3]), error, reply[4:])
    assert (outcome.delivered, mailbox.taken) == (False, [])


@pytest.mark.parametrize(
    ("step", "reply", "is_final"),
    [
        ("RCPT", "550 5.1.1 user unknown", True),
        ("RCPT", "553 5.1.3 bad address", True),
        ("RCPT", "550 5.1.10 the domain accepts no mail", True),
        ("RCPT", "550 5.2.1 mailbox disabled", True),
        ("RCPT", "550 no such user here", True),
        ("RCPT", "551 user not local", True),
        ("RCPT", "556 the domain accepts no mail", True),
        ("DATA", "550 5.1.1 user unknown", True),
        ("DATA", "552 5.3.4 message too big", True),
        ("DATA", "554 5.6.0 bad content", True),
        ("RCPT", "450 4.2.1 try again later", False),
        ("RCPT", "451 4.1.1 user unknown at present", False),
        ("RCPT", "550 4.1.1 codes that contradict each other", False),
        ("RCPT", "450 5.1.1 codes that contradict each other", False),
        ("RCPT", "552 5.2.2 mailbox full", False),
        ("RCPT", "552 mailbox full", False),
        ("RCPT", "550 5.7.1 relaying denied", False),
        ("RCPT", "550 relay not permitted", False),
        ("RCPT", "553 5.1.8 sender's domain not found", False),
        ("RCPT", "550 5.1.0 address rejected", False),
        ("RCPT", "530 5.7.0 authentication required", False),
        ("RCPT", "554 5.7.1 your host is on a list", False),
        ("RCPT", "503 5.5.1 bad sequence of commands", False),
        ("DATA", "554 transaction failed", False),
        ("MAIL", "550 5.1.1 user unknown", False),
        ("MAIL", "550 no such user here", False),
        ("MAIL", "554 no mail from your host", False),
    ],
)
def test_a_refusal_of_the_recipient_or_the_message_for_good_is_final(step: str, reply: str, is_final: bool) -> None:
    with Mailbox({step: reply}) as mailbox:
        outcome = send(mailbox.server())
    assert (outcome.delivered, outcome.is_final) == (False, is_final)


@pytest.mark.parametrize(
    ("step", "reply", "is_of_recipient"),
    [
        ("RCPT", "550 5.1.1 user unknown", True),
        ("RCPT", "450 4.1.2 recipient address rejected: domain not found", True),
        ("RCPT", "450 4.1.1 unverified address", True),
        ("RCPT", "450 4.2.0 greylisted", True),
        ("RCPT", "552 5.2.2 mailbox full", True),
        ("RCPT", "550 no such user here", True),
        ("RCPT", "450 mailbox unavailable", True),
        ("DATA", "550 5.1.1 user unknown", True),
        ("RCPT", "550 5.7.1 relaying denied", False),
        ("RCPT", "550 relay not permitted", False),
        ("RCPT", "450 4.1.8 sender's domain not found", False),
        ("RCPT", "451 4.3.0 out of disk", False),
        ("RCPT", "451 local error", False),
        ("DATA", "554 5.6.0 bad content", False),
        ("MAIL", "550 5.1.1 user unknown", False),
        ("MAIL", "450 mailbox unavailable", False),
    ],
)
def test_a_refusal_of_the_recipient_is_distinguished_from_a_fault_of_the_server(
    step: str, reply: str, is_of_recipient: bool
) -> None:
    with Mailbox({step: reply}) as mailbox:
        outcome = send(mailbox.server())
    assert outcome.error == (RECIPIENT_REFUSED if is_of_recipient else None)
    assert outcome.status == int(reply[:3])


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "encryption", [{}, {"tls": CERTIFICATE}, {"starttls": CERTIFICATE}], ids=["none", "tls", "starttls"]
)
@pytest.mark.usefixtures("trusted")
def test_a_server_that_hangs_at_any_step_is_cut_off(step: str, encryption: dict[str, str]) -> None:
    with Mailbox({step: hang}, **encryption) as mailbox:  # type: ignore[arg-type]
        outcome = send(mailbox.server(), SHORT)
        exchanges = [thread for thread in threading.enumerate() if thread.name == "mail-exchange"]

    assert (outcome.status, outcome.error, exchanges) == (None, "no answer within 0.5 s", [])


@contextmanager
def raw_server(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server of one connection, which need speak no SMTP."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with suppress(OSError), listening.accept()[0] as connection:
                serve(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(10)


@pytest.mark.parametrize(
    ("before", "drop"),
    [(b"", b"2"), (b"220-", b"x"), (b"", b"220-more\r\n"), (b"220 hello\r\n", b"250-MORE\r\n"), (b"", b"")],
    ids=["a greeting for ever", "a line for ever", "greetings for ever", "extensions for ever", "nothing"],
)
def test_a_server_that_drips_is_cut_off(before: bytes, drop: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        connection.sendall(before)
        connection.settimeout(0.02)
        while True:
            with suppress(TimeoutError):
                if connection.recv(1024) == b"":
                    return
            connection.sendall(drop)

    with raw_server(serve) as port:
        outcome = send(server(port), SHORT)

    assert (outcome.status, outcome.error) == (None, "no answer within 0.5 s")


def test_replies_without_end_are_read_up_to_a_bound() -> None:
    sent = [0]

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"220 hello\r\n")
        for _ in range(10_000):
            sent[0] += connection.send(b"250-" + b"x" * 1000 + b"\r\n")

    with raw_server(serve) as port:
        outcome = send(server(port))

    assert (outcome.status, outcome.error) == (None, "connection closed without an answer")
    assert sent[0] < 10_000_000


def closed(connection: socket.socket) -> None:
    """The connection ends before the greeting."""


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(connection.detach())


@pytest.mark.parametrize(
    ("serve", "words"),
    [
        (closed, {"connection closed without an answer"}),
        (reset, {"connection closed without an answer", "connection reset by peer"}),
        (lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), {"the answer is not SMTP"}),
        (lambda connection: connection.sendall(b"\xff\x00" * 100 + b"\r\n"), {"the answer is not SMTP"}),
        (lambda connection: connection.sendall(b"999 hello\r\n"), {"the answer is not SMTP"}),
        (lambda connection: connection.sendall(b"x" * 10_000), {"the answer is not SMTP"}),
    ],
    ids=["closed", "reset", "HTTP", "bytes", "a code that is none", "a line too long"],
)
def test_what_is_no_mail_server_is_told_in_our_words(serve: Callable[[socket.socket], None], words: set[str]) -> None:
    with raw_server(serve) as port:
        outcome = send(server(port))

    assert outcome.status is None
    assert outcome.error in words


def test_a_server_that_is_not_there_is_told_in_our_words() -> None:
    assert send(server(free_port())).error == "connection refused"
    assert send(server(25, host_name="mail.invalid")).error == "host name not found"


def test_a_server_that_says_nothing_after_it_took_the_message_has_taken_it() -> None:
    def serve(connection: socket.socket) -> None:
        replies = iter([b"220 a\r\n", b"250 b\r\n", b"250 c\r\n", b"250 d\r\n", b"354 e\r\n", b"250 taken\r\n"])
        connection.sendall(next(replies))
        received = b""
        while True:
            received = connection.recv(65536)
            if not received:
                return
            for end in (b".\r\n", b"\r\n"):
                if received.endswith(end) and (reply := next(replies, None)):
                    connection.sendall(reply)
                    break

    with raw_server(serve) as port:
        outcome = send(server(port))

    assert (outcome.status, outcome.response) == (250, "taken")


@pytest.mark.parametrize("encryption", ["tls", "starttls"])
def test_a_certificate_that_nobody_vouches_for_is_refused_and_nothing_is_sent(encryption: str) -> None:
    with Mailbox(**{encryption: CERTIFICATE}, auth=True) as mailbox:  # type: ignore[arg-type]
        outcome = send(mailbox.server())

    assert (outcome.status, outcome.error) == (None, "certificate refused: self-signed certificate")
    assert (mailbox.asked["MAIL"], mailbox.taken) == (0, [])


@pytest.mark.parametrize("encryption", ["tls", "starttls"])
@pytest.mark.usefixtures("trusted")
def test_a_certificate_of_another_host_is_refused(encryption: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _host, *rest, **more: resolve("127.0.0.1", *rest, **more))
    with Mailbox(**{encryption: CERTIFICATE}) as mailbox:  # type: ignore[arg-type]
        outcome = send(mailbox.server(host_name="mail.example.net"))

    assert str(outcome.error).startswith("certificate refused: Hostname mismatch")
    assert mailbox.taken == []


@pytest.mark.parametrize("encryption", ["tls", "starttls"])
@pytest.mark.usefixtures("trusted")
def test_a_message_goes_over_tls_once_signed_in(encryption: str) -> None:
    with Mailbox(**{encryption: CERTIFICATE}, auth=True) as mailbox:  # type: ignore[arg-type]
        outcome = send(mailbox.server())

    assert outcome.delivered
    assert [(taken.encrypted, taken.signed_in) for taken in mailbox.taken] == [(True, True)]


def test_a_server_whose_encryption_was_stripped_gets_neither_password_nor_message() -> None:
    with Mailbox(auth=True) as mailbox:
        outcome = send(mailbox.server(encryption="starttls"))

    assert (outcome.status, outcome.error) == (None, "the server offers no encryption (STARTTLS)")
    assert (mailbox.asked["MAIL"], mailbox.taken) == (0, [])


def test_a_wrong_password_is_the_server_s_refusal() -> None:
    with Mailbox(auth=True) as mailbox:
        outcome = send(mailbox.server(password="wrong password"))

    assert (outcome.status, outcome.delivered, mailbox.taken) == (535, False, [])


def test_a_server_without_sign_in_gets_no_password() -> None:
    with Mailbox({"EHLO": "250 mail.example.net"}) as mailbox:
        outcome = send(mailbox.server(user=USER, password=PASSWORD))

    assert (outcome.status, outcome.error, mailbox.taken) == (None, "the server offers no sign-in (AUTH)", [])


def test_the_excerpt_of_an_answer_repeats_no_secret() -> None:
    encoded = base64.b64encode(f"\0{USER}\0{PASSWORD}".encode()).decode()
    link = "T0ken-that-opens-an-account"
    said = f"554 5.7.1 {PASSWORD}, {encoded}: your link https://directory.example.net/reset?token={link} is spam"
    with Mailbox({"DATA": said}, auth=True) as mailbox:
        outcome = send(mailbox.server(), secrets=frozenset({link}))

    assert outcome.response == (
        "5.7.1 [hidden], [hidden]: your link https://directory.example.net/reset?token=[hidden] is spam"
    )
    assert PASSWORD not in repr(mailbox.server())
