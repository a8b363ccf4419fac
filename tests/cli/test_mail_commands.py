"""flask mail, as an operator uses it."""

from typing import Any

import pytest
from flask import Flask

from tests.conftest import build
from tests.support.mailbox import Mailbox


def run(app: Flask, *arguments: str) -> Any:
    return app.test_cli_runner(catch_exceptions=False).invoke(args=["mail", "send-test", *arguments])


@pytest.fixture
def app(mailbox: Mailbox, tmp_path: Any) -> Flask:
    """The application; its database is never opened."""
    return build(f"sqlite:///{tmp_path / 'unused.db'}", **mailbox.settings)


def test_a_test_mail_is_sent_at_once_and_what_the_server_answered_is_shown(app: Flask, mailbox: Mailbox) -> None:
    result = run(app, "Ada@Example.org")

    [taken] = mailbox.taken
    assert (result.exit_code, taken.to) == (0, ["ada@example.org"])
    heads, line = result.stdout.splitlines()
    assert heads.split() == ["SERVER", "RESULT", "TOOK", "ANSWER"]
    assert line.split()[:2] == [f"127.0.0.1:{mailbox.port}", "250"]


def test_a_refusal_is_shown_and_is_a_failure(app: Flask, mailbox: Mailbox) -> None:
    mailbox.script = {"RCPT": "550 5.1.1 no such mailbox"}
    result = run(app, "ada@example.org")
    assert (result.exit_code, mailbox.taken) == (1, [])
    assert "550" in result.stdout
    assert "no such mailbox" in result.stdout


@pytest.mark.parametrize("address", ["ada", "a@b\nRCPT TO:<c@d.e>", "ada@example.org, b@example.org", ""])
def test_what_is_no_address_is_refused(app: Flask, mailbox: Mailbox, address: str) -> None:
    result = run(app, address)
    assert (result.exit_code, mailbox.asked["EHLO"]) == (2, 0)
    assert "is not an e-mail address" in result.stderr


def test_without_a_mail_server_the_command_says_what_to_set(tmp_path: Any) -> None:
    result = run(build(f"sqlite:///{tmp_path / 'unused.db'}"), "ada@example.org")
    assert (result.exit_code, result.stderr) == (1, "Error: no mail server is configured: set MAIL_URL and MAIL_FROM\n")
