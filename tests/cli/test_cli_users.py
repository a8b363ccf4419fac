"""flask users: what an operator does to accounts."""

from typing import Any

import pytest
from flask import Flask

from directory.extensions import db
from directory.models import AuditEntry, User
from directory.services.accounts import accounts, sessions
from directory.services.accounts.passwords import verify_password
from tests.support.factories import PASSWORD, Api, World


@pytest.fixture
def run(app: Flask) -> Any:
    """Runs `flask users …`."""
    runner = app.test_cli_runner(catch_exceptions=False)
    return lambda *arguments, **options: runner.invoke(args=["users", *arguments], **options)


def stored(app: Flask, username: str) -> User | None:
    with app.app_context():
        return accounts.find(username)


def log(app: Flask) -> list[tuple[Any, ...]]:
    with app.app_context():
        columns = (AuditEntry.action, AuditEntry.actor_id, AuditEntry.from_state, AuditEntry.to_state)
        return [tuple(row) for row in db.session.query(*columns).order_by(AuditEntry.id)]


def create(run: Any, username: str = "boss", email: str = "boss@example.org", password: str = PASSWORD) -> Any:
    return run("create-admin", "--username", username, "--email", email, "--password", password)


def test_the_first_administrator_can_sign_in_and_administer(app: Flask, run: Any, api: Api) -> None:
    result = create(run)
    assert (result.exit_code, result.output) == (0, "boss is an administrator now.\n")
    answer = api.post("/api/auth/login", {"login": "boss", "password": PASSWORD})
    assert answer.status_code == 200
    assert answer.json["is_admin"] is True


def test_what_no_option_gives_is_asked_for_and_the_password_twice_without_being_shown(app: Flask, run: Any) -> None:
    result = run("create-admin", input=f"boss\nboss@example.org\n{PASSWORD}\n{PASSWORD}\n")
    assert result.exit_code == 0
    assert PASSWORD not in result.output
    user = stored(app, "boss")
    assert user is not None
    assert user.email == "boss@example.org"
    assert verify_password(user.password_hash, PASSWORD)


def test_two_different_passwords_are_asked_for_again(app: Flask, run: Any) -> None:
    result = run("create-admin", "--username", "boss", "--email", "b@example.org", input=f"{PASSWORD}\nother one\n")
    assert result.exit_code == 1
    assert stored(app, "boss") is None


@pytest.mark.parametrize(
    ("username", "email", "password", "says"),
    [
        ("Bo", "b@example.org", PASSWORD, "username: Use 3 to 32 small letters (a-z, no capitals), digits, _ and -."),
        ("boss", "nowhere", PASSWORD, "email: Not an e-mail address."),
        ("boss", "b@example.org", "short", "password: Use at least 8 characters."),
        ("boss", "b@example.org", "password1", "password: This password is among the most common ones"),
        ("boss", "b@example.org", "", "password: Must have 1 to 1024 characters."),
    ],
)
def test_an_administrator_needs_what_registration_asks_for(
    app: Flask, run: Any, username: str, email: str, password: str, says: str
) -> None:
    result = create(run, username, email, password)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {says}")
    assert result.stderr.count("\n") == 1
    assert stored(app, "boss") is None


def test_several_refused_values_are_named_in_one_line(run: Any) -> None:
    result = create(run, "x", "y")
    assert result.stderr.count("\n") == 1
    assert "username: " in result.stderr
    assert "email: " in result.stderr


def test_a_taken_name_or_address_is_refused(run: Any) -> None:
    create(run)
    for username, email in (("boss", "other@example.org"), ("other", "boss@example.org")):
        result = create(run, username, email)
        assert result.exit_code == 1
        assert result.stderr == "Error: This username or e-mail address is taken.\n"


@pytest.mark.parametrize(
    ("command", "role", "status", "says", "entry"),
    [
        ("promote", "member", "active", "an administrator", ("user.role_changed", None, "member", "admin")),
        ("demote", "admin", "active", "a member", ("user.role_changed", None, "admin", "member")),
        ("suspend", "member", "active", "suspended", ("user.status_changed", None, "active", "suspended")),
        ("activate", "member", "suspended", "active", ("user.status_changed", None, "suspended", "active")),
    ],
)
def test_a_change_is_made_said_and_logged_once_however_often_it_is_asked_for(
    app: Flask, run: Any, world: World, command: str, role: str, status: str, says: str, entry: Any
) -> None:
    world.admin("other")
    world.user("ida", role=role, status=status)
    assert run(command, "ida").output == f"ida is {says} now.\n"
    again = run(command, "ida")
    assert (again.exit_code, again.output) == (0, f"ida is {says} already.\n")
    user = stored(app, "ida")
    assert user is not None
    assert entry[3] in {user.role, user.status}
    assert log(app) == [entry]


@pytest.mark.parametrize("command", ["demote", "suspend"])
def test_the_last_active_administrator_stays_one(app: Flask, run: Any, world: World, command: str) -> None:
    world.admin("boss")
    result = run(command, "boss")
    assert result.exit_code == 1
    assert result.stderr == "Error: The last active administrator can be neither demoted nor suspended.\n"
    user = stored(app, "boss")
    assert user is not None
    assert (user.role, user.status) == ("admin", "active")


@pytest.mark.parametrize("command", ["promote", "demote", "suspend", "activate", "set-password"])
def test_an_unknown_account_is_named(run: Any, command: str) -> None:
    result = run(command, "nobody")
    assert (result.exit_code, result.stderr) == (1, "Error: There is no account named 'nobody'.\n")
    assert "There is no account named" in run(command, "half of a pair: \udcff").stderr


def test_a_suspension_ends_sessions_and_tokens(run: Any, world: World) -> None:
    caller = world.caller(world.user("ida"))
    run("suspend", "ida")
    assert caller.get("/api/auth/me").status_code == 401


def test_a_new_password_ends_the_sessions_and_keeps_the_tokens(app: Flask, run: Any, world: World) -> None:
    ida = world.user("ida")
    token = world.caller(ida)
    browser = app.test_client()
    browser.post("/api/auth/login", json={"login": "ida", "password": PASSWORD})
    result = run("set-password", "ida", input="another good one\nanother good one\n")
    assert result.exit_code == 0
    assert result.output.endswith("ida has a new password; all sessions are ended.\n")
    assert browser.get("/api/auth/me").status_code == 401
    assert token.get("/api/auth/me").status_code == 200
    user = stored(app, "ida")
    assert user is not None
    assert verify_password(user.password_hash, "another good one")
    with app.app_context():
        assert sessions.listed(ida) == []


def test_a_new_password_has_to_keep_the_rules(app: Flask, run: Any, world: World) -> None:
    world.user("ida")
    result = run("set-password", "ida", "--password", "ida@example.org")
    assert (result.exit_code, result.stderr) == (1, "Error: password: The password must not be the e-mail address.\n")
    user = stored(app, "ida")
    assert user is not None
    assert verify_password(user.password_hash, PASSWORD)


def test_the_list_shows_each_account_with_what_it_did(run: Any, world: World) -> None:
    ida, boss = world.user("ida"), world.admin("boss")
    world.vote(world.project(ida), boss)
    lines = run("list").output.splitlines()
    assert lines[0].split("  ")[0] == "USERNAME"
    found = {line.split()[0]: line.split() for line in lines[1:]}
    assert found["ida"][1:4] == ["ida@example.org", "member", "active"]
    assert found["ida"][5:] == ["1", "0"]
    assert found["boss"][2:4] == ["admin", "active"]
    assert found["boss"][5:] == ["0", "1"]


def test_the_list_can_be_narrowed_and_says_what_it_leaves_out(run: Any, world: World) -> None:
    world.admin("boss")
    for name in ("ida", "eva", "ada"):
        world.user(name)
    world.user("bad", status="suspended")
    assert "boss" in run("list", "--role", "admin").output
    assert "ida" not in run("list", "--role", "admin").output
    assert run("list", "--status", "suspended").output.splitlines()[1].split()[0] == "bad"
    shown = run("list", "--role", "member", "--limit", "2").output.splitlines()
    assert len(shown) == 4
    assert shown[-1] == "… the newest 2 of 4 accounts; --limit shows more."


def test_an_empty_list_says_so(run: Any) -> None:
    assert run("list").output == "No account matches.\n"
