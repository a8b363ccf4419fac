"""The settings of mail: complete or a line that names what is missing; no message repeats a password."""

from typing import Any

import pytest

import config
from config import ConfigError

FROM = "Project Directory <directory@example.org>"
PLANTED = "hunter2"


def load(**environ: str) -> dict[str, Any]:
    return config.load(
        {
            "SECRET_KEY": "4b6f1d0c9e2a5f7783b1c6d8e0f2a4957c1b3d5e",
            "DATABASE_URL": "sqlite:////srv/x.db",
            "SITE_URL": "https://directory.example.org",
            **environ,
        }
    )


def refusal(**environ: str) -> str:
    """The line that stops the start."""
    with pytest.raises(ConfigError) as caught:
        load(**environ)
    line = str(caught.value.code)
    assert "\n" not in line
    assert PLANTED not in line
    return line


@pytest.mark.parametrize("environ", [{}, {"MAIL_FROM": FROM}, {"MAIL_URL": "  ", "MAIL_FROM": ""}])
def test_no_mail_is_sent_where_no_server_is_named(environ: dict[str, str]) -> None:
    assert load(**environ)["MAIL"] is None


def test_a_server_has_its_host_port_credentials_and_sender() -> None:
    assert load(MAIL_URL="smtp://me%40here:p%2Fw%3A1@Mail.example.org", MAIL_FROM=FROM)["MAIL"] == {
        "host_name": "mail.example.org",
        "port": 587,
        "user": "me@here",
        "password": "p/w:1",
        "encryption": "starttls",
        "sender": ("Project Directory", "directory@example.org"),
        "site_url": "https://directory.example.org",
    }


@pytest.mark.parametrize(
    ("url", "encryption", "port"),
    [
        ("smtps://mail.example.org", "tls", 465),
        ("smtps://127.0.0.1", "tls", 465),
        ("smtp://mail.example.org:25/", "starttls", 25),
        ("smtp://10.0.0.1", "starttls", 587),
        ("smtp://localhost.example.org", "starttls", 587),
        ("smtp://127.0.0.1:25", "none", 25),
        ("smtp://[::1]", "none", 587),
        ("smtp://localhost", "none", 587),
    ],
)
def test_only_this_machine_gets_mail_without_tls(url: str, encryption: str, port: int) -> None:
    found = load(MAIL_URL=url, MAIL_FROM=FROM)["MAIL"]
    assert (found["encryption"], found["port"]) == (encryption, port)


@pytest.mark.parametrize(
    "url",
    [
        PLANTED, f"http://a:{PLANTED}@b", f"smtp://{PLANTED}@b", f"smtp://:{PLANTED}@b", "smtp://", "smtp:///x",
        f"smtp://a:{PLANTED}@b/path", f"smtp://a:{PLANTED}@b?x=1", f"smtp://a:{PLANTED}@b#x", "smtp://b:99999", "smtp://b:0",
        f"smtp://a:{PLANTED}%0d%0a@b", f"smtp://a:{PLANTED}é@b", f"smtp://a:{PLANTED} @b",
    ],
)  # fmt: skip
def test_an_address_that_makes_no_sense_stops_the_start(url: str) -> None:
    assert refusal(MAIL_URL=url, MAIL_FROM=FROM).startswith("MAIL_URL: ")


@pytest.mark.parametrize(
    "sender",
    [
        "directory", "a@b c@d",
        "a@b, c@d", "a@b\tX: y", "<a@b", "A <a@b> <c@d>", "ä@example.org", "a@-b", "A\u202eB <a@b>",
        f"{'x' * 101} <a@b>",
    ],
)  # fmt: skip
def test_a_sender_that_makes_no_sense_stops_the_start(sender: str) -> None:
    assert refusal(MAIL_URL="smtp://mail.example.org", MAIL_FROM=sender).startswith("MAIL_FROM: is not a sender")


@pytest.mark.parametrize(
    ("sender", "found"),
    [
        ("directory@localhost", ("", "directory@localhost")),
        ("<a.b+c@example.org>", ("", "a.b+c@example.org")),
        ('"Verzeichnis, Süd" <a@example.org>', ("Verzeichnis, Süd", "a@example.org")),
    ],
)
def test_a_sender_may_have_a_name(sender: str, found: tuple[str, str]) -> None:
    assert load(MAIL_URL="smtp://localhost", MAIL_FROM=sender)["MAIL"]["sender"] == found


def test_what_mail_lacks_is_named() -> None:
    server = "smtp://localhost"
    assert refusal(MAIL_URL=server).startswith("MAIL_FROM: set the address that mail comes from")
    assert refusal(MAIL_URL=server, MAIL_FROM=FROM, SITE_URL="", APP_ENV="production").startswith("SITE_URL: ")
    assert refusal(REQUIRE_VERIFIED_EMAIL="vote").startswith("REQUIRE_VERIFIED_EMAIL: set MAIL_URL")


@pytest.mark.parametrize("mail", [{}, {"MAIL_URL": "smtp://localhost", "MAIL_FROM": FROM}])
def test_no_endpoint_has_the_name_of_the_mail_server(mail: dict[str, str]) -> None:
    taken = '[{"name": "mail", "url": "https://h.example/", "format": "slack"}]'
    line = refusal(WEBHOOK_ENDPOINTS=taken, **mail)
    assert line.startswith("WEBHOOK_ENDPOINTS: no endpoint can be called mail")


def test_links_name_the_listening_address_during_development() -> None:
    found = load(MAIL_URL="smtp://localhost", MAIL_FROM=FROM, SITE_URL="", PORT="8123")["MAIL"]
    assert found["site_url"] == "http://127.0.0.1:8123"
