"""Log lines: JSON, one a line, each with its request's id, and never a secret."""

import io
import json
import logging
import re
import time

import pytest

from directory.extensions import db
from directory.logs import JsonFormatter, Lines
from directory.services.accounts import sessions
from directory.services.catalog import catalog
from tests.conftest import ENVIRONMENT
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import PASSWORD, Api, World


@pytest.fixture
def make_logged(monkeypatch, make_app):
    """Makes an application at a level; with it comes a function that reads its lines and forgets them."""
    stream = io.StringIO()

    def lines():
        text = stream.getvalue()
        stream.truncate(0)
        stream.seek(0)
        assert text.isascii()
        return [json.loads(line) for line in text.splitlines()]

    def make(level):
        monkeypatch.setattr("sys.stderr", stream)  # here, for pytest puts its own there between set-up and test
        return make_app(LOG_LEVEL=level), lines

    return make


@pytest.fixture
def logged(make_logged):
    """An application that logs everything."""
    return make_logged("DEBUG")


def written_by(record):
    """The line of a record."""
    return JsonFormatter().format(record)


def record(message="message", **extra):
    info = {"levelname": "INFO", "levelno": logging.INFO}
    return logging.makeLogRecord({"msg": message, "name": "directory.x", **info, **extra})


def test_a_record_is_one_json_object_with_its_extras():
    line = json.loads(written_by(record("did %s", args=("it",), attempt=2, reason="x")))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line.pop("time"))
    assert line == {"level": "info", "logger": "directory.x", "message": "did it", "attempt": 2, "reason": "x"}


@pytest.mark.parametrize(
    "forged", ['a\n{"level": "x"}', "a\r\nb", "a\u2028b", "a\x85b", "\x1b[2J", "\x00", "\ud800", '"}']
)
def test_no_value_breaks_its_line_or_reaches_a_terminal_raw(forged):
    text = written_by(record(forged, path=forged, nested={"a": [forged]}))
    assert text.splitlines() == [text]
    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text)["path"] == forged


@pytest.mark.parametrize("value", [object(), {1, 2}, b"\xff", 10**30, float("nan"), ValueError("x"), {1: "a"}])
def test_any_value_can_be_logged(value):
    assert "value" in json.loads(written_by(record(value=value)))


@pytest.mark.parametrize(("created", "shown"), [(1_700_000_000.25, "20.250"), (1_700_000_001.0, "21.000")])
def test_a_line_has_the_time_of_its_record(created, shown):
    made = record()
    made.created = created
    assert json.loads(written_by(made))["time"] == f"2023-11-14T22:13:{shown}+00:00"


def test_an_exception_is_logged_in_the_same_line():
    try:
        raise ValueError("first\nsecond")
    except ValueError as error:
        text = written_by(record(exc_info=(type(error), error, error.__traceback__)))
    assert text.splitlines() == [text]
    assert "ValueError: first\nsecond" in json.loads(text)["exception"]


def test_a_request_is_one_line_with_what_was_asked_and_by_whom(logged):
    app, lines = logged
    world = World(app)
    user = world.user()
    caller = world.caller(user)
    lines()
    caller.get("/api/projects?q=searched", headers={"X-Request-ID": "chosen-id"})
    (line,) = [each for each in lines() if each["logger"] == "directory.access"]
    assert isinstance(line.pop("ms"), float)
    assert line.pop("time")
    assert line == {
        "level": "info",
        "logger": "directory.access",
        "message": "request",
        "request_id": "chosen-id",
        "method": "GET",
        "path": "/api/projects",
        "status": 200,
        "user_id": user.id,
    }


def test_every_line_of_a_request_has_its_id_and_no_other_line_has_one(logged, monkeypatch):
    app, lines = logged

    def fails(*_args, **_options):
        logging.getLogger("directory.deep.inside").debug("ours")
        logging.getLogger("sqlalchemy.pool").error("a library's")
        logging.getLogger("unknown").info("not wanted")
        raise ZeroDivisionError

    monkeypatch.setattr(catalog, "page", fails)
    lines()
    Api(app).get("/api/projects", headers={"X-Request-ID": "the-id"})
    logging.getLogger("directory").info("outside")
    found = [(line["logger"], line.get("request_id")) for line in lines()]
    assert found == [
        ("directory.deep.inside", "the-id"),
        ("sqlalchemy.pool", "the-id"),
        ("directory.http.problem_details", "the-id"),
        ("directory.access", "the-id"),
        ("directory", None),
    ]


def test_a_second_application_does_not_write_every_line_twice(make_logged):
    make_logged("DEBUG")
    _app, lines = make_logged("INFO")
    logging.getLogger("directory").info("once")
    assert [line["message"] for line in lines()] == ["once"]


def test_what_is_below_the_level_is_left_out(make_logged):
    app, lines = make_logged("WARNING")
    Api(app).get("/api/projects")
    logging.getLogger("directory").warning("above")
    assert [line["message"] for line in lines()] == ["above"]


def test_a_path_cannot_forge_a_line(logged):
    app, lines = logged
    lines()
    for path in ("/api/%0a%7B%22level%22:%22error%22%7D", "/%0d%0a", "/%e2%80%a8x", "/%c2%85x", "/%1b[2J", "/%ff"):
        Api(app).get(path)
        (line,) = lines()
        assert (line["logger"], line["status"]) == ("directory.access", 404)


SECRETS = {
    "password": "planted-Password-1",
    "new_password": "planted-Password-2",
    "guess": "planted-Password-3",
    "token": "pds_planted-token",
    "cookie": "planted-cookie",
}


@pytest.mark.extra("feed_keys")
def test_passwords_tokens_and_cookies_never_appear(logged, monkeypatch):
    app, lines = logged
    browser, login = Browser(app), {"login": "ada", "password": SECRETS["password"]}
    new = {"username": "ada", "email": "ada@example.org", "password": SECRETS["password"]}
    change = {"password": SECRETS["new_password"], "current_password": SECRETS["password"]}
    browser.post("/api/auth/register", new)
    browser.post("/api/auth/register", new)
    browser.post("/api/auth/login", login | {"password": SECRETS["guess"]})
    browser.post("/api/auth/login", {"login": SECRETS["guess"], "password": SECRETS["guess"]})
    issued = browser.post("/api/auth/tokens", {"name": "x"}).json["token"]
    key = browser.post("/api/auth/feed-key").json["key"]
    for given in (key, SECRETS["token"]):
        Api(app).get(f"/api/projects.atom?key={given}", headers={"Referer": f"http://a/?key={given}"})
    Api(app).get(f"/api/projects.atom?key={key}&limit=1")
    bad = {"Authorization": f"Bearer {SECRETS['token']}", "Cookie": f"{COOKIE}={SECRETS['cookie']}"}
    Api(app).get("/api/projects", headers=bad)
    Api(app).get("/api/projects", headers={"Cookie": bad["Cookie"]})
    browser.put("/api/auth/me", change | {"current_password": SECRETS["guess"]})
    browser.put("/api/auth/me", change)
    made = [browser.cookie, issued, key]
    with monkeypatch.context() as broken:  # a fault whose statement holds a hash
        broken.setattr(sessions.secrets, "token_urlsafe", lambda _size: "the-same")
        for _ in range(2):
            browser.post("/api/auth/tokens", {"name": "x"})
    text = json.dumps(lines())
    assert "IntegrityError" in text
    assert text.count('"status": 500') == 1
    with app.app_context():
        hashes = db.session.scalars(
            db.text("SELECT password_hash FROM users UNION SELECT token_hash FROM tokens")
        ).all()
        made += [*hashes, *map(sessions.digest, [*made, "pds_the-same"])]
    assert [secret for secret in [*SECRETS.values(), *made] if secret in text] == []


def test_a_refused_login_is_logged_with_its_status_and_without_its_name(logged):
    app, lines = logged
    lines()
    Api(app).post("/api/auth/login", {"login": "typed-by-mistake", "password": PASSWORD})
    found = lines()
    assert [line["status"] for line in found if line["logger"] == "directory.access"] == [401]
    assert "typed-by-mistake" not in json.dumps(found)


def refusals(lines):
    """The logged refusals and their accounts; each has the id of a request with a line of its own."""
    found = lines()
    told = [line for line in found if line["message"] == "refused"]
    asked = {line["request_id"] for line in found if line["logger"] == "directory.access"}
    assert {line["request_id"] for line in told} <= asked
    return [(line["code"], line["address"], line["account_id"]) for line in told]


def test_a_refusal_is_logged_with_address_and_account(make_logged):
    app, lines = make_logged("INFO")
    world = World(app)
    ada, live = world.user("ada"), world.project(world.user("bob"))
    suspended = world.user("eve", status="suspended")
    caller, away = world.caller(ada), {"environ_overrides": {"REMOTE_ADDR": "203.0.113.7"}}
    lines()
    api, wrong = Api(app), {"login": "ada", "password": "not the password"}
    api.post("/api/auth/login", wrong, **away)
    api.post("/api/auth/login", wrong | {"login": "nobody"})
    api.post("/api/auth/login", {"login": "eve", "password": PASSWORD})
    caller.put("/api/auth/me", {"password": "a new and longer one", "current_password": "not the password"})
    api.get("/api/auth/me")
    caller.delete(f"/api/projects/{live}")
    caller.get("/api/admin/users")
    Browser(app, "x").post("/api/projects", {}, headers={"Sec-Fetch-Site": "cross-site"})
    caller.get("/api/projects/4711")
    here = "127.0.0.1"
    assert refusals(lines) == [
        ("invalid_credentials", "203.0.113.7", ada.id),
        ("invalid_credentials", here, None),
        ("account_suspended", here, suspended.id),
        ("validation_failed", here, ada.id),
        ("unauthenticated", here, None),
        ("not_owner", here, None),
        ("admin_required", here, None),
        ("cross_site_request", here, None),
    ]


def test_a_rate_limited_caller_is_logged_and_a_password_typed_as_the_login_is_not(make_logged, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "RATELIMIT_ENABLED", "true")
    app, lines = make_logged("DEBUG")
    typed = {"login": "planted-Password-4", "password": "planted-Password-4"}
    for _ in range(7):
        Api(app).post("/api/auth/login", typed)
    text = json.dumps(found := lines())
    assert [(line["code"], line.get("tier")) for line in found if line["message"] == "refused"] == (
        [("invalid_credentials", None)] * 5 + [("rate_limited", "account")] * 2
    )
    assert "planted-password-4" not in text.lower()


def test_a_limit_that_no_answer_shows_is_logged_with_the_account(make_logged, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "RATELIMIT_ENABLED", "true")
    app, lines = make_logged("INFO")
    ada = World(app).user("ada")
    for login in ("ada", "ada@example.org") * 3:
        Api(app).post("/api/auth/login", {"login": login, "password": "not the password"})
    found = [(each["tier"], each["account_id"]) for each in lines() if each["message"] == "silent limit reached"]
    assert found == [("password", ada.id)]


def test_the_handler_has_a_lock_for_every_version_of_logging():
    """Python 3.13 enters it, earlier versions acquire and release it; the suite may run on either."""
    handler = Lines(io.StringIO())
    with handler.lock:
        handler.acquire()
        handler.handle(logging.makeLogRecord({"msg": "said"}))
        handler.release()
    assert handler.stream.getvalue() == "said\n"


def test_the_record_of_a_request_is_read_by_other_handlers_too(logged, caplog):
    app, _ = logged
    caplog.set_level("INFO", "directory.access")
    began = time.time()
    Api(app).get("/api/projects")
    (request,) = [each for each in caplog.records if each.name == "directory.access"]
    assert (request.getMessage(), request.levelno, request.method, request.status) == (
        "request", logging.INFO, "GET", 200,
    )  # fmt: skip
    assert began <= request.created <= time.time()
    wanted = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(process)s %(path)s").format(request)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO directory.access None /api/projects", wanted)
